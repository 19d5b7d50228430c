// What the visitor has chosen, kept by the browser. Paths are kept for this tab only.
import { computed, effect, signal, type Signal } from "@preact/signals";

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
export const openNodes = kept<string[]>("open", ["/"], sessionStorage);
export const sortBy = kept<"name" | "modified" | "bytes" | "children">("sort", "name");
export const span = kept<string>("span", "1h");
export const quantile = kept<"p50" | "p99">("quantile", "p99");

/** Whether the screen is as a query of the style sheet says. */
function media(query: string): Signal<boolean> {
  const list = matchMedia(query),
    s = signal(list.matches);
  list.addEventListener("change", () => (s.value = list.matches));
  return s;
}

/** Whether the screen is as narrow as that of a phone; the style sheet has the same bound. */
export const phone = media("(max-width: 860px)");

/** Whether there is little room. */
export const tight = media("(max-width: 1100px)");
const chosenNarrow = kept<boolean | null>("rail", null);
/** Whether the rail shows icons only: as the visitor has chosen, otherwise where there is little room. */
export const narrow = computed(() => !phone.value && (chosenNarrow.value ?? tight.value));
export const narrowRail = (v: boolean) => (chosenNarrow.value = v);

const systemDark = media("(prefers-color-scheme: dark)");

/** The theme that is shown: light or dark. */
export const shown = signal<"light" | "dark">("light");
effect(() => {
  shown.value = theme.value === "system" ? (systemDark.value ? "dark" : "light") : theme.value;
  const { dataset } = document.documentElement;
  dataset.theme = shown.value;
  dataset.density = density.value;
  dataset.narrow = String(narrow.value);
});
