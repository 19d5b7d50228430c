// Where the visitor is: behind the # of the address, such as #/tree?path=/a. So the paths of znodes reach no proxy.
import { computed, signal } from "@preact/signals";

export interface Place {
  page: string;
  params: URLSearchParams;
}

function read(): Place {
  const [page, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { page: page || "overview", params: new URLSearchParams(query ?? "") };
}

export const place = signal<Place>(read());
addEventListener("hashchange", () => (place.value = read()));
export const page = computed(() => place.value.page);

export type Params = Record<string, string | number | undefined | null | false>;

export function to(page: string, params: Params = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== false && value !== "") q.set(name, String(value));
  }
  return "#/" + (page === "overview" ? "" : page) + (q.size ? "?" + q : "");
}

export const go = (page: string, params?: Params) => {
  location.hash = to(page, params);
};

/** Changes the address without an entry in the history of the browser. */
export function amend(page: string, params?: Params): void {
  history.replaceState(null, "", to(page, params));
  place.value = read();
}

export const param = (name: string, usual = "") => place.value.params.get(name) ?? usual;
