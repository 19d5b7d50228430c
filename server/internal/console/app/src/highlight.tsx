// Data in colours, for a reader. The editor has a parser; this one knows tokens only.
import type { Format } from "./data";

// What a token is, by the group of the expression that has found it.
const tokens: Partial<Record<Format, RegExp>> = {
  json: /(?<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<text>"(?:[^"\\]|\\.)*")|(?<value>\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)/g,
  yaml: /(?<note>(?<=^|\s)#.*$)|(?<key>^[ \t-]*[^\s#:"'][^\n:#]*(?=:(?:\s|$)))|(?<text>"(?:[^"\\]|\\.)*"|'[^'\n]*')|(?<value>(?<=[:-][ \t]+)(?:true|false|null|~|-?\d[\d.]*)$)/gm,
  xml: /(?<note><!--[^]*?-->)|(?<key><\/?[\w:.-]+|\/?>)|(?<text>"[^"<]*"|'[^'<]*')/g,
};

// More text than this stays in one colour: a browser would take long for so many parts.
const paintMax = 32 * 1024;

// Marks that turn the direction of text, and characters of no width: in data they could make a line read as another.
const deceives = /[\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;

function shown(text: string) {
  const parts: any[] = [];
  let from = 0;
  for (const m of text.matchAll(deceives)) {
    parts.push(text.slice(from, m.index));
    parts.push(
      <span class="bad-char" title="invisible character" key={m.index}>
        U+{m[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}
      </span>,
    );
    from = m.index + m[0].length;
  }
  return from === 0 ? text : [...parts, text.slice(from)];
}

export function Painted({ text, format }: { text: string; format: string }) {
  const find = tokens[format as Format];
  if (!find || text.length > paintMax) return <>{shown(text)}</>;
  const parts: any[] = [];
  let from = 0;
  for (const m of text.matchAll(find)) {
    if (m[0] === "") continue;
    parts.push(shown(text.slice(from, m.index)));
    const kind = Object.keys(m.groups!).find((k) => m.groups![k] !== undefined);
    parts.push(
      <span class={"k-" + kind} key={m.index}>
        {shown(m[0])}
      </span>,
    );
    from = m.index + m[0].length;
  }
  return <>{[...parts, shown(text.slice(from))]}</>;
}
