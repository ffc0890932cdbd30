// Light or dark: the system's setting, until the reader chooses.
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];
let on_paper = false; // printing: white in every theme

export function isDark() {
  if (on_paper) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : system.matches;
}

export function onTheme(listener) {
  listeners.push(listener);
}

export function startTheme(button) {
  const name = () => {
    const other = isDark() ? "light" : "dark";
    button.textContent = other === "light" ? "Light" : "Dark";
    button.setAttribute("aria-label", `${button.textContent}: switch to the ${other} theme`);
  };
  const changed = () => {
    name();
    listeners.forEach((listener) => listener());
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    changed();
  });
  system.addEventListener("change", changed);
  for (const [event, now] of [
    ["beforeprint", true],
    ["afterprint", false],
  ]) {
    addEventListener(event, () => {
      on_paper = now;
      listeners.forEach((listener) => listener());
    });
  }
  name();
}
