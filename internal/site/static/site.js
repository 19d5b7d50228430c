// The search, the choice of light or dark, and buttons that copy code. Pages can be read without all of it.
"use strict";
(() => {
  const root = document.currentScript.dataset.root;
  const html = document.documentElement;
  const stored = {
    get: () => { try { return localStorage.getItem("warren-docs-theme"); } catch { return null; } },
    set: (theme) => { try { localStorage.setItem("warren-docs-theme", theme); } catch { /* it is not kept */ } },
  };
  if (stored.get()) html.dataset.theme = stored.get(); // before the page is painted

  function element(name, className, text) {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text) e.textContent = text;
    return e;
  }

  // The index is a script that calls this function.
  let index, loading;
  window.warrenSearch = (loaded) => {
    index = { ...loaded, words: loaded.words.split(" ") };
  };
  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = element("script");
      script.src = root + "search-index.js";
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
    return loading;
  }

  const words = (text) => text.toLowerCase().match(/[a-z0-9]{2,}/g) ?? [];

  // search returns the sections that have most of the words, or words that begin with them. A title weighs more than
  // text, the whole word more than its beginning, and a rare word more than a frequent one.
  function search(query) {
    const scores = new Map();
    const wanted = words(query);
    for (const word of wanted) {
      const best = new Map();
      for (let i = 0; i < index.words.length; i++) {
        if (!index.words[i].startsWith(word)) continue;
        const places = index.places[i].split(" ");
        const weight = (index.words[i] === word ? 2 : 1) * Math.log(1 + index.sections.length / places.length);
        let at = 0;
        for (const difference of places) {
          at += parseInt(difference, 36);
          best.set(at, Math.max(best.get(at) ?? 0, weight));
        }
      }
      for (const [at, weight] of best) {
        const [page, anchor, title] = index.sections[at];
        const begins = (text) => words(text).some((w) => w.startsWith(word));
        let score = 100 + weight;
        if (begins(title)) score += anchor === "" ? 30 : 15;
        if (begins(index.pages[page][1])) score += 8;
        scores.set(at, (scores.get(at) ?? 0) + score);
      }
    }
    const shown = new Map(); // results of each page, of which there are at most three
    return [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([at]) => index.sections[at]).filter(([page]) => {
      shown.set(page, (shown.get(page) ?? 0) + 1);
      return shown.get(page) <= 3;
    }).slice(0, 12);
  }

  function result([page, anchor, title, excerpt], id) {
    const [address, of] = index.pages[page];
    const item = element("li");
    item.id = id;
    item.setAttribute("role", "option");
    const link = element("a");
    link.href = root + address + (anchor && "#" + anchor);
    link.tabIndex = -1;
    link.append(element("b", "", anchor ? of + " › " + title : title), element("span", "", excerpt));
    item.append(link);
    return item;
  }

  function setUpSearch() {
    const input = document.getElementById("search");
    const list = document.getElementById("search-results");
    let selected = -1;
    const show = (shown) => {
      list.hidden = !shown;
      input.setAttribute("aria-expanded", shown);
    };
    const select = (i) => {
      const items = list.querySelectorAll("[role=option]");
      selected = items.length ? (i + items.length) % items.length : -1;
      items.forEach((item, at) => item.setAttribute("aria-selected", at === selected));
      input.setAttribute("aria-activedescendant", selected < 0 ? "" : items[selected].id);
      items[selected]?.scrollIntoView({ block: "nearest" });
    };
    const update = async () => {
      const query = input.value;
      if (words(query).length === 0) return show(false);
      try {
        await load();
      } catch {
        list.replaceChildren(element("li", "none", "The search index could not be loaded."));
        return show(true);
      }
      if (input.value !== query) return; // a later one shows its results
      const found = search(query).map((one, i) => result(one, "result-" + i));
      list.replaceChildren(...(found.length ? found : [element("li", "none", "Nothing found.")]));
      select(0);
      show(true);
    };
    input.closest(".search").hidden = false;
    input.addEventListener("focus", () => { load().catch(() => {}); if (input.value) update(); });
    input.addEventListener("input", update);
    input.addEventListener("keydown", (e) => {
      const move = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (e.key === "Escape") {
        show(false);
        input.blur();
      } else if (list.hidden) {
        return;
      } else if (move) {
        e.preventDefault();
        select(selected + move);
      } else if (e.key === "Enter") {
        list.querySelector("[aria-selected=true] a")?.click();
      }
    });
    list.addEventListener("click", () => show(false)); // the page may be this one
    document.addEventListener("click", (e) => { if (!e.target.closest(".search")) show(false); });
    document.addEventListener("keydown", (e) => {
      if (e.key === "/" && !e.ctrlKey && !e.metaKey && !e.altKey && e.target === document.body) {
        e.preventDefault();
        input.focus();
      }
    });
    const asked = new URLSearchParams(location.search).get("q"); // an address may carry a search
    if (asked) {
      input.value = asked;
      input.focus();
      update();
    }
  }

  function setUpTheme() {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      const dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      html.dataset.theme = dark ? "light" : "dark";
      stored.set(html.dataset.theme);
    });
  }

  // The menu is open without scripts. On a phone it is closed until the reader opens it.
  function setUpMenu() {
    const menu = document.getElementById("menu");
    const narrow = matchMedia("(max-width: 860px)");
    const fit = () => { menu.open = !narrow.matches; };
    fit();
    narrow.addEventListener("change", fit);
    const current = menu.querySelector("[aria-current]");
    if (current && !narrow.matches) menu.scrollTop = current.offsetTop - menu.clientHeight / 2;
  }

  function setUpCopying() {
    if (!navigator.clipboard) return; // the page came over plain HTTP
    for (const pre of document.querySelectorAll("pre")) {
      const box = element("div", "code");
      const button = element("button", "copy", "Copy");
      button.type = "button";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      pre.replaceWith(box);
      box.append(pre, button);
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    setUpMenu();
    setUpTheme();
    setUpSearch();
    setUpCopying();
  });
})();
