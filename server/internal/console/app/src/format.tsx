// How figures, times and names are written, the same on every page.
import type { ComponentChildren } from "preact";

const group = new Intl.NumberFormat("en-US");

/** A figure, as a server tells it: null or missing if nobody knows it. It is never written as 0 then. */
export type Figure = number | null | undefined;
export const unknown = "Not known";
const known = (n: Figure): n is number => n !== null && n !== undefined;

export const count = (n: Figure) => (known(n) ? group.format(n) : unknown);

/** A number with three significant digits at most, such as 12.3k. */
export function short(n: Figure): string {
  if (!known(n)) return unknown;
  const abs = Math.abs(n);
  if (abs >= 1e9) return trim(n / 1e9) + "G";
  if (abs >= 1e6) return trim(n / 1e6) + "M";
  if (abs >= 1e4) return trim(n / 1e3) + "k";
  return abs >= 100 || Number.isInteger(n) ? group.format(Math.round(n)) : trim(n);
}

const trim = (n: number) => String(Number(n.toPrecision(3)));

export const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** A number of things, such as 1 session or 3 sessions. */
export const of = (n: number, one: string, more = one + "s") => `${count(n)} ${n === 1 ? one : more}`;

/** What was found by a search, and in what. more says that it is not over. */
export const found = (n: number, visited: number, where: string, more: boolean) =>
  more
    ? `${count(n)} found so far, in ${count(visited)} of the znodes that you can see ${where}`
    : `${count(n)} found in the ${visited === 1 ? "one znode" : `${count(visited)} znodes`} that you can see ${where}`;

/** How many wait, as a sentence: 1 waits, 3 wait. */
export const waiting = (n: number) => `${count(n)} ${n === 1 ? "waits" : "wait"}`;

export function bytes(n: Figure): string {
  if (!known(n)) return unknown;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (Math.abs(n) >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return (i === 0 ? String(Math.round(n)) : trim(n)) + " " + units[i];
}

export function millis(ms: Figure): string {
  if (!known(ms)) return unknown;
  if (ms === 0) return "0 ms";
  if (ms < 1) return Math.round(ms * 1000) + " µs";
  if (ms < 10_000) return trim(ms) + " ms";
  return duration(ms);
}

export function duration(ms: Figure): string {
  if (!known(ms)) return unknown;
  const s = Math.floor(ms / 1000);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  const h = Math.floor(s / 3600);
  if (h < 48) return h + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(h / 24) + " d " + (h % 24) + " h";
}

export function unit(n: Figure, u: string): string {
  if (!known(n)) return "–";
  if (u === "bytes") return bytes(n);
  if (u === "bytes/s") return bytes(n) + "/s";
  if (u === "ms") return millis(n);
  if (u === "") return short(Math.round(n)); // a mean of what is counted
  return short(n) + u;
}

const pad = (n: number, width = 2) => String(n).padStart(width, "0");

export function clock(ms: number): string {
  const d = new Date(ms);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

export function local(ms: number): string {
  const d = new Date(ms);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${clock(ms)}`;
}

export const utc = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace("T", " ") + " UTC";

export function ago(ms: number, now = Date.now()): string {
  const past = now - ms;
  return past < 5000 ? "just now" : duration(past) + " ago";
}

/** A time: local, without the date if it is of today, and with all of it and UTC for who points at it. */
export function Time({ at, relative, whole }: { at: number; relative?: boolean; whole?: boolean }) {
  if (at <= 0) return <span class="faint nowrap">{unknown}</span>;
  const [date, time] = local(at).split(" ");
  const ofToday = local(Date.now()).startsWith(date);
  return (
    <time dateTime={new Date(at).toISOString()} title={`${local(at)} local time\n${utc(at)}`}>
      {relative ? (
        ago(at)
      ) : (
        <>
          {(whole || !ofToday) && <span class="date">{date} </span>}
          {time}
        </>
      )}
    </time>
  );
}

/** A time with UTC written beside it, once where local time is UTC. */
export function TimeWithUTC({ at }: { at: number }) {
  const same = utc(at).startsWith(local(at));
  return (
    <span class="nowrap">
      <Time at={at} whole /> {at > 0 && <span class="faint nowrap">{same ? "UTC" : "· " + utc(at)}</span>}
    </span>
  );
}

// What no name should show as it is: controls, marks that turn the direction, and what is invisible.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\u00a0\u115f\u1160\u3164\uffa0\u034f]|^\s|\s$|\s(?=\s)/gu;

/** The parts of a name: text, and characters that are shown by their code. */
export function partsOf(name: string): { text: string; code: boolean }[] {
  const parts: { text: string; code: boolean }[] = [];
  let from = 0;
  for (const m of name.matchAll(hidden)) {
    if (m.index > from) parts.push({ text: name.slice(from, m.index), code: false });
    parts.push({ text: "U+" + m[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0"), code: true });
    from = m.index + m[0].length;
  }
  if (from < name.length) parts.push({ text: name.slice(from), code: false });
  return parts;
}

/** A name or a path as plain text, without anything that could deceive. */
export const plain = (name: string) =>
  partsOf(name)
    .map((p) => (p.code ? `⟨${p.text}⟩` : p.text))
    .join("");

/** Text of a path that a line may break behind each slash. */
const breaking = (text: string) =>
  text.split(/(?<=\/)(?=.)/).flatMap((part, i) => (i ? [<wbr key={i} />, part] : part));

/** Text in which what was searched for is marked, in any case. */
function marking(text: string, mark: string) {
  const at = mark ? text.toLowerCase().indexOf(mark.toLowerCase()) : -1;
  // Lower case may have another length: then nothing is marked.
  if (at < 0 || text.toLowerCase().length !== text.length) return breaking(text);
  const end = at + mark.length;
  return [
    ...breaking(text.slice(0, at)),
    <mark key="mark">{text.slice(at, end)}</mark>,
    ...breaking(text.slice(end)),
  ];
}

/** A name or a path: isolated from the text around it, with what is invisible shown by its code. */
export function Name({ of, mark = "", children }: { of: string; mark?: string; children?: ComponentChildren }) {
  return (
    <bdi class="esc mono">
      {partsOf(of).map((p) =>
        p.code ? (
          <span class="bad-char" title="invisible character">
            {p.text}
          </span>
        ) : (
          marking(p.text, mark)
        ),
      )}
      {children}
    </bdi>
  );
}

/** A path of which each part leads to the page of its znode. */
export const Crumbs = ({ path, href }: { path: string; href: (path: string) => string }) => (
  <span class="crumbs mono">
    <a href={href("/")} aria-label="Root">
      /
    </a>
    {path !== "/" &&
      path
        .slice(1)
        .split("/")
        .map((n, i, all) => {
          const p = "/" + all.slice(0, i + 1).join("/");
          return (
            <span key={p}>
              {i > 0 && <span class="faint">/</span>}
              {p === path ? (
                <strong>
                  <Name of={n} />
                </strong>
              ) : (
                <a href={href(p)}>
                  <Name of={n} />
                </a>
              )}
            </span>
          );
        })}
  </span>
);

export const joined = (parent: string, name: string) => (parent === "/" ? "/" : parent + "/") + name;
export const baseOf = (path: string) => (path === "/" ? "/" : path.slice(path.lastIndexOf("/") + 1));
export const parentOf = (path: string) => path.slice(0, Math.max(1, path.lastIndexOf("/"))) || "/";

/** The version of Warren that a server runs, or what it is if it isn't Warren. */
export const versionOf = (s: { program?: string; version?: string }) =>
  (s.program ?? "").replace(/^Warren (?=.)/, "") || (s.version ?? "").split(/[-,]/)[0];
/** The same in full. */
export const versionsOf = (s: { program?: string; version?: string }) =>
  [s.program, s.version && "clients are told " + s.version].filter(Boolean).join("; ");
