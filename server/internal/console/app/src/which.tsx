// Which servers a page shows: this one, another one, or all. The others are asked by this one.
import { useLayoutEffect, useState } from "preact/hooks";
import { get, Trouble, user, type Happened, type Trends } from "./api";
import { ensemble, seen, servers } from "./facts";
import { clock } from "./format";
import { Segments, Tag } from "./parts";
import { amend, param, place, type Params } from "./router";

/** A server that is asked: its id, or null for the one whose page this is, also before its id is known. */
export type Which = number | null;

const ownId = () => ensemble.value?.serverId ?? 0;
export const idOf = (w: Which) => w ?? ownId();

/** The parameter of a request by which this server passes it on. */
export const passedTo = (w: Which): number | undefined => (w === null || w === ownId() ? undefined : w);

/** A server in a sentence. */
export const named = (w: Which) =>
  seen.value.length === 0 || idOf(w) === ownId() ? "this server" : `server ${idOf(w)}`;

/** Why a server cannot be asked now; "" if it can. */
export const unasked = (w: Which): string =>
  w === null ? "" : (servers.value?.servers.find((s) => s.id === w)?.unasked ?? "");

/** All servers: this one first, since it can be asked before the others are known. */
export function allServers(): Which[] {
  return [null, ...seen.value.filter((s) => !s.member.self).map((s) => s.id)];
}

/** The servers that the address names: "all", or one. */
export function chosen(usual: "all" | "own"): Which[] {
  const text = param("server", usual);
  if (text === "all") return allServers();
  const id = Number(text);
  return [Number.isInteger(id) && id !== ownId() && seen.value.some((s) => s.id === id) ? id : null];
}

/** Changes parameters of the address, and leaves the others. */
export function alter(page: string, params: Params): void {
  amend(page, { ...Object.fromEntries(place.value.params), ...params });
}

/** Chooses a server, or all, or only one. It is nothing for a server that stands alone. */
export function ServerPick({ page, usual, one }: { page: string; usual: "all" | "own"; one?: boolean }) {
  if (seen.value.length === 0) return null;
  const which = chosen(usual);
  const value = which.length > 1 ? "all" : String(idOf(which[0]));
  const pick = (v: string) => {
    const own = usual === "own" && v === String(ownId());
    alter(page, { server: own || v === usual ? "" : v });
  };
  const options: [string, string][] = [
    ...(one ? [] : [["all", "All servers"] as [string, string]]),
    ...seen.value.map((s): [string, string] => [String(s.id), `Server ${s.id}`]),
  ];
  if (seen.value.length <= 5) {
    const brief = options.map(([v]): [string, string] => [v, v === "all" ? "All" : v]);
    return (
      <div class="row nowrap">
        <span class="small dim" aria-hidden="true">
          Server
        </span>
        <Segments label="Server" value={value} of={brief} names={options} pick={pick} />
      </div>
    );
  }
  return (
    <select
      class="input"
      style={{ width: "auto" }}
      aria-label="Server"
      value={value}
      onChange={(e) => pick(e.currentTarget.value)}
    >
      {options.map(([v, text]) => (
        <option key={v} value={v}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** What a server has answered last, and why it does not answer now. */
export interface Told<T> {
  which: Which;
  data: T | null;
  trouble: Trouble | null;
}

// For how many ms the answers of a round wait for the last one.
const patience = 1000;

/**
 * What each of several servers answers, asked again every so many ms while the page is seen. query is made anew each
 * time; key says what it depends on. The last answer stays when one fails.
 */
export function useEach<T>(
  path: string | null,
  which: Which[],
  query: () => Record<string, string | number | undefined> = () => ({}),
  every = 0,
  key = "",
): [Told<T>[], () => void] {
  const of = [path, key, user.value].join("?");
  const [state, setState] = useState<{ of: string; all: Map<Which, Told<T>> }>({ of, all: new Map() });
  const [turn, setTurn] = useState(0);
  useLayoutEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    let timer = 0;
    const set = (told: Told<T>[]) =>
      setState((old) => {
        const all = new Map(old.of === of ? old.all : []);
        for (const t of told) all.set(t.which, { ...t, data: t.data ?? all.get(t.which)?.data ?? null });
        return { of, all };
      });
    const one = async (w: Which): Promise<Told<T> | null> => {
      let data: T | null = null,
        trouble: Trouble | null = null;
      try {
        const why = unasked(w);
        if (why) throw new Trouble(502, `Server ${idOf(w)} cannot be asked: ${why}`);
        data = await get<T>(path, { ...query(), server: passedTo(w) }, stop.signal);
      } catch (e) {
        if (stop.signal.aborted) return null;
        trouble = e instanceof Trouble ? e : new Trouble(0, String(e));
      }
      return { which: w, data, trouble };
    };
    // The first answers are shown as they come; later ones together, so that no server seems to be behind the others.
    const round = async (first: boolean) => {
      let early: Told<T>[] | null = first ? null : [];
      const show = () => {
        if (early?.length) set(early);
        early = null;
      };
      const late = setTimeout(show, patience);
      await Promise.all(
        which.map(async (w) => {
          const told = await one(w);
          if (told && early) early.push(told);
          else if (told) set([told]);
        }),
      );
      clearTimeout(late);
      if (!stop.signal.aborted) show();
    };
    const ask = async (first: boolean) => {
      if (!document.hidden || !every) await round(first);
      if (every && !stop.signal.aborted) timer = window.setTimeout(ask, every, false);
    };
    void ask(true);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [of, which.join(), every, turn]);
  const mine = state.of === of ? state.all : new Map<Which, Told<T>>();
  return [
    which
      .map((w) => mine.get(w) ?? { which: w, data: null, trouble: null })
      .sort((a, b) => idOf(a.which) - idOf(b.which)),
    () => setTurn((n) => n + 1),
  ];
}

/** The servers that have not answered, and since when: what is shown is without them, or old. */
export function Unheard({ of }: { of: Told<unknown>[] }) {
  const silent = of.filter((t) => t.trouble && t.trouble.status !== 401 && t.trouble.status !== 403);
  if (silent.length === 0) return null;
  return (
    <div class="row wrap" role="status">
      {silent.map((t) => {
        const since = servers.value?.servers.find((s) => s.id === idOf(t.which))?.silentSince;
        const why = t.trouble!.message.replace(/^Server \d+ cannot be asked: /, "");
        return (
          <Tag key={String(t.which)} tone="warn">
            Server {idOf(t.which)}: not known{since ? ` since ${clock(since)}` : ""}, {why}
          </Tag>
        );
      })}
    </div>
  );
}

// What a figure of several servers is in one interval: a mean, or the most where the most matters.
const isMost = (name: string) => name.startsWith("p99.") || name === "outstanding";

/**
 * The figures of several servers on one time axis. A series has its name and the id of its server, such as reads@2;
 * reads@sum is the sum, as long as every server that has answered has a value, and p99.all@most the greatest.
 */
export function together(all: Told<Trends>[]): Trends | null {
  const told = all.filter((t) => t.data !== null);
  if (told.length === 0) return null;
  const every = Math.max(...told.map((t) => t.data!.everyMs));
  const bucket = (t: number) => t - (t % every);
  const times = [...new Set(told.flatMap((t) => t.data!.times.map(bucket)))].sort((a, b) => a - b);
  const at = new Map(times.map((t, i) => [t, i]));
  const series: Trends["series"] = [];
  for (const t of told) {
    for (const s of t.data!.series) {
      const sum: (number | null)[] = times.map(() => null),
        n = times.map(() => 0);
      s.values.forEach((v, i) => {
        if (v === null) return;
        const k = at.get(bucket(t.data!.times[i]))!;
        sum[k] = isMost(s.name) ? Math.max(sum[k] ?? v, v) : (sum[k] ?? 0) + v;
        n[k]++;
      });
      const values = sum.map((v, i) => (v === null || isMost(s.name) ? v : v / n[i]));
      series.push({ name: `${s.name}@${idOf(t.which)}`, unit: s.unit, values });
    }
  }
  for (const name of new Set(told.flatMap((t) => t.data!.series.map((s) => s.name)))) {
    const parts = series.filter((s) => s.name.startsWith(name + "@"));
    const known = times.map((_, i) => parts.map((p) => p.values[i]).filter((v) => v !== null));
    const whole = known.map((values) => values.length === parts.length);
    series.push({
      name: name + "@sum",
      unit: parts[0].unit,
      values: known.map((values, i) => (whole[i] ? values.reduce((a, b) => a + b, 0) : null)),
    });
    series.push({
      name: name + "@most",
      unit: parts[0].unit,
      values: known.map((values) => (values.length ? Math.max(...values) : null)),
    });
  }
  return { everyMs: every, times, series, events: eventsOf(told) };
}

/** An event, and the servers that tell it: a finding is told by all of them. */
export type Event = Happened & { servers: number[]; lasted?: number };

const shared = new Set(["finding", "resolved"]);

/** The events of several servers, the newest first; what several tell within a minute is one. */
export function eventsOf(told: Told<Trends>[]): Event[] {
  const all: Event[] = [];
  const each = told.flatMap((t) => (t.data?.events ?? []).map((e) => ({ ...e, servers: [idOf(t.which)] })));
  for (const e of each.sort((a, b) => b.at - a.at)) {
    const same = shared.has(e.kind)
      ? all.find((o) => o.kind === e.kind && o.text === e.text && o.at - e.at < 60_000)
      : undefined;
    if (!same) all.push(e);
    else if (!same.servers.includes(e.servers[0])) {
      same.servers.push(e.servers[0]);
      same.at = e.at; // the first to find it
    }
  }
  return all;
}

const over = "Resolved: ";

/** Events with each finding that is over as one, with how long it lasted. */
export function settled(all: Event[]): Event[] {
  const folded = new Set<Event>();
  const lasted = new Map<Event, number>();
  all.forEach((e, i) => {
    if (e.kind !== "resolved" || !e.text.startsWith(over)) return;
    const text = e.text.slice(over.length);
    const begun = all.slice(i + 1).find((o) => o.kind === "finding" && !folded.has(o) && o.text.startsWith(text));
    if (!begun) return;
    folded.add(begun);
    lasted.set(e, e.at - begun.at);
  });
  return all.filter((e) => !folded.has(e)).map((e) => (lasted.has(e) ? { ...e, lasted: lasted.get(e) } : e));
}
