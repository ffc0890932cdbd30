document.title = "Roofcast";
