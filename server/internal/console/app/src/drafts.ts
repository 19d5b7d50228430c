// What was typed and not saved yet, by path, for this tab: a reload or a lost login loses nothing.
const prefix = "warren.draft ";

export interface Draft {
  text: string;
  encoding: "utf-8" | "base64";
  version: number;
  base: string;
}

export function readDraft(path: string): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(prefix + path) ?? "null");
  } catch {
    return null;
  }
}

export function keepDraft(path: string, d: Draft | null): void {
  try {
    if (d) sessionStorage.setItem(prefix + path, JSON.stringify(d));
    else sessionStorage.removeItem(prefix + path);
  } catch {
    // the storage is full or switched off: the text is still in the editor
  }
}

export function clearDrafts(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
  } catch {
    // there is none
  }
}
