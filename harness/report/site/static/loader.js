{
  const script = document.createElement("script");
  const refuse = () => { document.getElementById("view").textContent = "site.js, which shows this page, is damaged or not beside it."; };
  script.src = "site.js";
  script.onerror = refuse;
  script.onload = () => { if (typeof kc === "undefined") refuse(); };
  document.head.append(script);
}
