// Replaces every picture by an interactive chart, and lets the reader choose the theme.
(function () {
  "use strict";
  var options = JSON.parse(document.getElementById("options").textContent);
  var root = document.documentElement;
  var button = document.getElementById("theme");
  var system = window.matchMedia("(prefers-color-scheme: dark)");
  var places = Array.prototype.slice.call(document.querySelectorAll(".live"));

  function isDark() {
    var chosen = root.getAttribute("data-theme");
    return chosen ? chosen === "dark" : system.matches;
  }

  function draw(place) {
    var option = options[place.getAttribute("data-figure")];
    option.animation = false;
    place.chart = RoofcastCharts.mount(place, option, isDark());
  }

  function redraw() {
    places.forEach(function (place) {
      if (place.chart) {
        place.chart.dispose();
      }
      draw(place);
    });
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Switch to the " + (isDark() ? "light" : "dark") + " theme");
  }

  root.classList.add("scripted");
  places.forEach(function (place) {
    place.hidden = false;
    place.style.height = place.getAttribute("data-height") + "px";
  });

  button.hidden = false;
  button.addEventListener("click", function () {
    root.setAttribute("data-theme", isDark() ? "light" : "dark");
    redraw();
  });
  if (system.addEventListener) {
    system.addEventListener("change", redraw);
  }
  redraw();
})();
