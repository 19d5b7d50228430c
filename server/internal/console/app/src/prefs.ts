// What the visitor has chosen, kept by the browser. Paths are kept for this tab only.
import { effect, signal, type Signal } from "@preact/signals";

function kept<T>(name: string, usual: T, store = localStorage): Signal<T> {
  let value = usual;
  try {
    value = JSON.parse(store.getItem("warren." + name) ?? "null") ?? usual;
  } catch {
    // not ours, or not allowed: the usual holds
  }
  const s = signal(value);
  effect(() => {
    try {
      store.setItem("warren." + name, JSON.stringify(s.value));
    } catch {
      // a browser that keeps nothing
    }
  });
  return s;
}

export const theme = kept<"system" | "light" | "dark">("theme", "system");
export const density = kept<"comfortable" | "compact">("density", "comfortable");
export const narrow = kept("narrow", false);
export const openNodes = kept<string[]>("open", ["/"], sessionStorage);
export const sortBy = kept<"name" | "modified" | "bytes" | "children">("sort", "name");
export const span = kept<string>("span", "1h");
export const quantile = kept<"p50" | "p99">("quantile", "p99");

const small = matchMedia("(max-width: 860px)");
/** Whether the screen is as narrow as that of a phone; the style sheet has the same bound. */
export const phone = signal(small.matches);
small.addEventListener("change", () => (phone.value = small.matches));

const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

/** The theme that is shown: light or dark. */
export const shown = signal<"light" | "dark">("light");
effect(() => {
  shown.value = theme.value === "system" ? (systemDark.value ? "dark" : "light") : theme.value;
  const { dataset } = document.documentElement;
  dataset.theme = shown.value;
  dataset.density = density.value;
  dataset.narrow = String(narrow.value);
});
