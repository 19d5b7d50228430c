// Ctrl-K: pages, paths, sessions, addresses, settings and orders, found by a few letters.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { FolderTree, Search, Server, Settings, Users } from "lucide";
import { get, type Found, type Sessions, type Setting } from "./api";
import { plain } from "./format";
import { ensemble } from "./facts";
import { orders, titled } from "./orders";
import { pages } from "./pages";
import { Icon } from "./parts";
import { to } from "./router";
import { allServers, named } from "./which";

export const paletteOpen = signal(false);

interface Hit {
  title: string;
  what: string;
  href: string;
  icon: any;
  score: number;
}

/** How well letters fit a text: each must occur, in order. 0: not at all. */
export function fits(letters: string, text: string): number {
  if (!letters) return 1;
  const t = text.toLowerCase(),
    l = letters.toLowerCase().trim();
  const whole = t.indexOf(l);
  if (whole >= 0) return 100 - whole / 10 - t.length / 100 + (whole === 0 || /[\s/._-]/.test(t[whole - 1]) ? 20 : 0);
  let at = 0,
    score = 40;
  for (const c of l.replace(/\s+/g, "")) {
    const next = t.indexOf(c, at);
    if (next < 0) return 0;
    score -= Math.min(4, next - at);
    at = next + 1;
  }
  return Math.max(1, score);
}

/** A text with the letters that fit marked: in one piece if they stand so, else one by one. */
function marked(letters: string, text: string) {
  const t = text.toLowerCase(),
    l = letters.toLowerCase().trim();
  const whole = l ? t.indexOf(l) : -1;
  const at = new Set<number>();
  if (whole >= 0) for (let i = 0; i < l.length; i++) at.add(whole + i);
  else if (fits(l, text) > 0) {
    let from = 0;
    for (const c of l.replace(/\s+/g, "")) {
      from = t.indexOf(c, from);
      at.add(from++);
    }
  }
  if (at.size === 0 || t.length !== text.length) return text; // lower case may have another length
  return [...text.matchAll(/./gsu)].map((m) => (at.has(m.index) ? <mark key={m.index}>{m[0]}</mark> : m[0]));
}

// Settings and sessions are fetched once for each opening.
async function known(): Promise<{ settings: Setting[]; sessions: Sessions["sessions"] }> {
  const [c, s] = await Promise.allSettled([
    get<{ settings: Setting[] }>("configuration"),
    get<Sessions>("sessions", { limit: 1000 }),
  ]);
  return {
    settings: c.status === "fulfilled" ? c.value.settings : [],
    sessions: s.status === "fulfilled" ? s.value.sessions : [],
  };
}

export function Palette() {
  const ref = useRef<HTMLDialogElement>(null);
  const text = useSignal(""),
    chosen = useSignal(0),
    paths = useSignal<string[]>([]);
  const all = useSignal<Awaited<ReturnType<typeof known>>>({ settings: [], sessions: [] });
  const close = () => (paletteOpen.value = false);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current!.showModal();
    void known().then((k) => (all.value = k));
    return () => before?.focus?.();
  }, []);
  useEffect(() => {
    const word = text.value.trim();
    paths.value = [];
    if (word.length < 2) return;
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const letters = word.replace(/^\/+/, "");
        if (!letters) return;
        // Those that have it in one piece come first: of letters with gaps there may be many.
        const [whole, gaps] = await Promise.all([
          get<Found>("search", { contains: letters, limit: 100 }, stop.signal),
          get<Found>("search", { letters: letters.replace(/\s+/g, ""), limit: 200 }, stop.signal),
        ]);
        paths.value = [...new Set([...whole.paths, ...gaps.paths])];
      } catch {
        // what is found elsewhere is shown
      }
    }, 150);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [text.value]);
  const hits = useMemo(() => {
    const word = text.value.trim(),
      list: Hit[] = [];
    const add = (title: string, what: string, href: string, icon: any, also = "", bonus = 0) => {
      const score = Math.max(fits(word, title), word ? fits(word, also) - 30 : 0);
      if (score > 0) list.push({ title, what, href, icon, score: score + bonus });
    };
    for (const p of pages) add(p.title, p.group || "Page", p.old ?? to(p.id), p.icon, p.words, 10);
    for (const o of orders) {
      if (o.id === "hand_over" || o.id === "end_session") {
        const at = o.id === "hand_over" ? ensemble.value?.leader : undefined;
        add(o.title, "Order", to("servers", { order: o.id, at }), Server, o.about, 5);
        continue;
      }
      for (const w of allServers()) {
        add(titled(o, named(w)), "Order", to("servers", { order: o.id, at: w }), Server, o.about, w === null ? 5 : 0);
      }
    }
    if (word) {
      if (word.startsWith("/"))
        add(word, "Open this path", to("tree", { path: word.replace(/(.)\/+$/, "$1") }), FolderTree, "", 30);
      for (const p of paths.value) add(p, "Znode", to("tree", { path: p }), FolderTree);
      for (const s of all.value.sessions) {
        add(`${s.address} ${s.label}`.trim(), "Session", to("session", { label: s.label }), Users);
      }
      for (const s of all.value.settings)
        add(s.name, "Setting", to("configuration", { find: s.name, all: 1 }), Settings);
    }
    return list.sort((a, b) => b.score - a.score).slice(0, 40);
  }, [text.value, paths.value, all.value]);
  const at = Math.min(chosen.value, hits.length - 1);
  const open = (h: Hit | undefined) => {
    if (!h) return;
    close();
    location.href = h.href;
  };
  const keys = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step) {
      e.preventDefault();
      chosen.value = (at + step + hits.length) % Math.max(1, hits.length);
      document.getElementById("hit" + chosen.value)?.scrollIntoView({ block: "nearest" });
    } else if (e.key === "Enter") {
      e.preventDefault();
      open(hits[at]);
    }
  };
  return (
    <dialog
      ref={ref}
      class="palette"
      aria-label="Search and commands"
      onCancel={(e) => {
        e.preventDefault();
        close();
      }}
      onClick={(e) => e.target === e.currentTarget && close()}
    >
      <div class="ask">
        <Icon of={Search} />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="hits"
          aria-activedescendant={hits.length ? "hit" + at : undefined}
          aria-label="Search pages, paths, sessions, settings and orders"
          placeholder="Pages, paths, sessions, settings, orders"
          spellcheck={false}
          autocomplete="off"
          value={text.value}
          onKeyDown={keys}
          autofocus
          onInput={(e) => {
            text.value = e.currentTarget.value;
            chosen.value = 0;
          }}
        />
        <kbd>Esc</kbd>
      </div>
      <ul id="hits" role="listbox" aria-label="Results">
        {hits.map((h, i) => (
          <li
            key={h.href + h.title}
            id={"hit" + i}
            role="option"
            aria-selected={i === at}
            onClick={() => open(h)}
            onMouseMove={() => (chosen.value = i)}
          >
            <Icon of={h.icon} />
            <span class={"grow cut" + (h.what === "Znode" || h.what === "Setting" ? " mono" : "")}>
              <bdi>{marked(text.value, plain(h.title))}</bdi>
            </span>
            <span class="what">{h.what}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <div class="empty">Nothing matches</div>}
      <div class="hint">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
      </div>
    </dialog>
  );
}
