// What the data of a znode is, and how it is laid out.
import type { Znode } from "./api";

export type Format = "json" | "yaml" | "xml" | "text" | "hex";

export function formatOf(text: string): Format {
  const t = text.trim();
  if (/^[[{]/.test(t)) {
    try {
      JSON.parse(t);
      return "json";
    } catch {
      // it only begins so
    }
  }
  if (/^---(\s|$)/.test(t)) return "yaml";
  if (/^<(\?xml|[A-Za-z_])/.test(t) && t.endsWith(">")) return "xml";
  return "text";
}

export const detect = (z: Znode): Format => (z.encoding === "utf-8" ? formatOf(z.data ?? "") : "hex");

/** The data for a reader. Numbers of JSON stay as they were written: only what is between its tokens changes. */
export function laidOut(z: Znode, f: Format): string {
  const text = z.data ?? "";
  return f === "json" && text.length <= 256 * 1024 ? indent(text) : text;
}

export function indent(json: string): string {
  let out = "",
    depth = 0,
    inText = false;
  for (let i = 0; i < json.length; i++) {
    const c = json[i];
    if (inText) {
      out += c;
      if (c === "\\") out += json[++i];
      else if (c === '"') inText = false;
      continue;
    }
    if (/\s/.test(c)) continue;
    const line = () => "\n" + "  ".repeat(depth);
    if (c === '"') {
      inText = true;
      out += c;
    } else if (c === "{" || c === "[") {
      const rest = json.slice(i + 1).match(/^\s*([}\]])/);
      if (rest) {
        out += c + rest[1];
        i += rest[0].length;
      } else {
        depth++;
        out += c + line();
      }
    } else if (c === "}" || c === "]") {
      depth--;
      out += line() + c;
    } else if (c === ",") out += c + line();
    else if (c === ":") out += ": ";
    else out += c;
  }
  return out;
}

function bytesOf(z: Znode): Uint8Array {
  if (z.encoding === "utf-8") return new TextEncoder().encode(z.data ?? "");
  return Uint8Array.from(atob(z.data ?? ""), (c) => c.charCodeAt(0));
}

const isMixed = (text: string) => /\r/.test(text) && /[\r\n]/.test(text.replaceAll("\r\n", ""));

/** The data for the editor. An editor of text keeps neither bytes that are no text nor line ends of several kinds:
 * such data is edited in base64. */
export function editable(z: Znode): { text: string; encoding: "utf-8" | "base64" } {
  const text = z.data ?? "";
  if (z.encoding === "base64") return { text, encoding: "base64" };
  if (!text.includes("\0") && !isMixed(text)) return { text, encoding: "utf-8" };
  let binary = "";
  for (const b of bytesOf(z)) binary += String.fromCharCode(b);
  return { text: btoa(binary), encoding: "base64" };
}

export function hexOf(z: Znode, most = 16 * 1024): string {
  const all = bytesOf(z),
    lines: string[] = [];
  for (let i = 0; i < Math.min(all.length, most); i += 16) {
    const part = all.subarray(i, i + 16);
    const hex = [...part].map((b) => b.toString(16).padStart(2, "0")).join(" ");
    const text = [...part].map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : ".")).join("");
    lines.push(i.toString(16).padStart(8, "0") + "  " + hex.padEnd(47) + "  " + text);
  }
  if (all.length > most) lines.push(`… ${all.length - most} bytes more`);
  return lines.join("\n");
}
