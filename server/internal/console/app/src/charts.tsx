// Charts over time with a common cursor, by uPlot.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Happened, Trends } from "./api";
import { capital, clock, local, plain, unit } from "./format";
import { shown } from "./prefs";

/** One line of a chart. */
export interface Line {
  name: string;
  series: string;
  color: string;
  fill?: boolean;
}

// Where the common cursor is: a moment of the trends, or null; and the event whose mark is there.
export const cursor = signal<number | null>(null);
const pointed = signal<Marked | null>(null);

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Steps of an axis of bytes: powers of two, so that its labels are round.
const powers = Array.from({ length: 50 }, (_, i) => 2 ** i);

// Steps of an axis of what is counted.
const wholes = Array.from({ length: 10 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();

// How wide a character of the labels is, in CSS pixels.
const digit = 6.2;

// A value without neighbours is a point: a line cannot show it.
const alone: uPlot.Series.Points.Filter = (u, i) => {
  const all = u.data[i];
  const has = (j: number) => all[j] !== null && all[j] !== undefined;
  return Array.from(all.keys()).filter((j) => has(j) && !has(j - 1) && !has(j + 1));
};

/** An event, with the servers that tell it where there are several. */
type Marked = Happened & { servers?: number[] };

// What is marked in a chart: kinds of events with a colour and a name, in the order in which they are drawn.
const markKinds: Record<string, [string, string]> = {
  finding: ["--bad-dot", "Finding"],
  role: ["--warn-dot", "Role or leader"],
  start: ["--info-dot", "Start"],
  configuration: ["--good-dot", "Reconfiguration"],
  restore: ["--c4", "Restore"],
  deploy: ["--c3", "New version"],
};

// How near the cursor must be to a mark to point at it, and half the width of its flag, in CSS pixels.
const near = 6,
  flag = 4;

function marks(events: () => Marked[]): uPlot.Plugin {
  return {
    hooks: {
      draw: (u) => {
        const { ctx, bbox } = u,
          px = devicePixelRatio;
        ctx.save();
        ctx.lineWidth = px;
        for (const [kind, [colour]] of Object.entries(markKinds)) {
          ctx.strokeStyle = ctx.fillStyle = css(colour);
          for (const e of events()) {
            if (e.kind !== kind) continue;
            const x = Math.round(u.valToPos(e.at / 1000, "x", true));
            if (x < bbox.left || x > bbox.left + bbox.width) continue;
            ctx.setLineDash([3 * px, 3 * px]);
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
            ctx.beginPath();
            ctx.moveTo(x - flag * px, bbox.top);
            ctx.lineTo(x + flag * px, bbox.top);
            ctx.lineTo(x, bbox.top + 1.5 * flag * px);
            ctx.fill();
          }
        }
        ctx.restore();
      },
    },
  };
}

/** The event whose mark is where the cursor is, the newest of several. */
const eventAt = (u: uPlot, events: Marked[]): Marked | null =>
  events.find(
    (e) =>
      markKinds[e.kind] && u.cursor.left! >= 0 && Math.abs(u.valToPos(e.at / 1000, "x") - u.cursor.left!) <= near,
  ) ?? null;

/** When a chart begins: with its first value, or with the start of the server shortly before. */
export function beginOf({ times, events }: Trends): number | undefined {
  const starts = events.filter((e) => e.kind === "start" && e.at > times[0] - 30_000).map((e) => e.at);
  return times.length ? Math.min(times[0], ...starts) : undefined;
}

/** What the marks in the charts mean, as far as there are some since a time. */
export function Marks({ of: events, from }: { of: Marked[]; from: number }) {
  const kinds = Object.entries(markKinds).filter(([kind]) => events.some((e) => e.kind === kind && e.at >= from));
  if (kinds.length === 0) return null;
  return (
    <div class="row wrap small dim marks" role="group" aria-label="Marks in the charts">
      {kinds.map(([kind, [colour, name]]) => (
        <span key={kind}>
          <svg viewBox="0 0 8 8" aria-hidden="true">
            <path d="M0 1h8L4 7z" style={{ fill: `var(${colour})` }} />
          </svg>
          {name}
        </span>
      ))}
    </div>
  );
}

export function Chart({
  title,
  trends,
  lines: all,
  u: unitOf,
  from,
  floor,
}: {
  title: string;
  trends: Trends;
  lines: Line[];
  u: string;
  from: number;
  floor?: number;
}) {
  // A line without a value would only take a place in the legend.
  const valuesOf = (l: Line) => trends.series.find((s) => s.name === l.series)?.values ?? [];
  const known = all.filter((l) => valuesOf(l).some((v) => v !== null));
  const lines = known.length > 0 ? known : all;
  const box = useRef<HTMLDivElement>(null),
    plot = useRef<uPlot | null>(null);
  const events = useRef<Marked[]>([]),
    range = useRef<[number, number]>([0, 1]);
  events.current = trends.events;
  const until = trends.times.length ? trends.times[trends.times.length - 1] : Date.now();
  // A server that has not run for so long yet would leave most of the chart empty.
  range.current = [Math.max(from, Math.min(beginOf(trends) ?? from, until - 60_000)) / 1000, until / 1000];
  const series = lines.map(valuesOf);
  const has = series.some((s) => s.some((v) => v !== null));
  // Slots that are missing, as while the server was stopped, must not be bridged.
  const times: number[] = [],
    values: (number | null)[][] = lines.map(() => []);
  trends.times.forEach((t, i) => {
    if (i && t - trends.times[i - 1] > 2.5 * trends.everyMs) {
      times.push((trends.times[i - 1] + trends.everyMs) / 1000);
      values.forEach((v) => v.push(null));
    }
    times.push(t / 1000);
    series.forEach((s, j) => values[j].push(s[i] ?? null));
  });
  const data = [times, ...values] as uPlot.AlignedData;
  useEffect(() => {
    if (!has) return;
    const grid = { stroke: css("--border"), width: 1 },
      text = css("--text-3"),
      font = "11px " + css("--font");
    const made = new uPlot(
      {
        width: box.current!.clientWidth,
        height: box.current!.clientHeight,
        pxAlign: true,
        legend: { show: false },
        padding: [8, 4, 0, 0],
        cursor: { sync: { key: "warren" }, y: false, points: { size: 6 }, drag: { x: false, y: false } },
        scales: {
          x: { time: true, range: () => range.current },
          y: { range: (_u, _min, max) => [0, Math.max(floor ?? 0, (max ?? 1) * 1.12) || 1] },
        },
        axes: [
          {
            stroke: text,
            font,
            grid: { show: false },
            ticks: { show: false },
            size: 24,
            space: 72,
            values: (u, splits) => {
              const [min, max] = [u.scales.x.min!, u.scales.x.max!],
                letters = max - min < 300 ? 8 : 5;
              // One of which a part would be beyond the edge is left out.
              const end = max - ((letters * digit) / 2 / (u.bbox.width / devicePixelRatio || u.width)) * (max - min);
              return splits.map((s) => (s > end ? "" : clock(s * 1000).slice(0, letters)));
            },
          },
          {
            stroke: text,
            font,
            grid,
            ticks: { show: false },
            size: (_u, values) => 16 + digit * Math.max(0, ...(values ?? []).map((v) => v.length)),
            space: 36,
            incrs: unitOf.startsWith("bytes") ? powers : unitOf === "" ? wholes : undefined,
            values: (_u, splits) => splits.map((v) => unit(v, unitOf)),
          },
        ],
        series: [
          {},
          ...lines.map((l) => ({
            label: l.name,
            stroke: css(l.color),
            width: 1.5,
            spanGaps: false,
            points: { show: true, size: 3, filter: alone },
            fill: l.fill ? css(l.color) + "1f" : undefined,
          })),
        ],
        hooks: {
          setCursor: [
            (u) => {
              cursor.value = u.cursor.left! >= 0 && u.cursor.idx != null ? u.data[0][u.cursor.idx] : null;
              pointed.value = eventAt(u, events.current);
            },
          ],
        },
        plugins: [marks(() => events.current)],
      },
      data,
      box.current!,
    );
    plot.current = made;
    const host = box.current!;
    const sized = new ResizeObserver(
      () => host.clientWidth && made.setSize({ width: host.clientWidth, height: host.clientHeight }),
    );
    sized.observe(host);
    return () => {
      sized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [has, shown.value, lines.map((l) => l.series).join(), unitOf]);
  useEffect(() => plot.current?.setData(data), [trends, from]);
  const at = cursor.value === null ? -1 : times.indexOf(cursor.value);
  return (
    <figure class="card chart" aria-label={title}>
      <figcaption class="head">
        <h3>{title}</h3>
        <span class="small faint nowrap">{at >= 0 ? local(times[at] * 1000).slice(5) : ""}</span>
      </figcaption>
      <div class="keys">
        {lines.map((l, i) => {
          const v = at >= 0 ? values[i][at] : last(values[i]);
          return (
            <span key={l.series}>
              <i style={{ background: `var(${l.color})` }} />
              {l.name} <b>{unit(v, unitOf)}</b>
            </span>
          );
        })}
      </div>
      {has ? (
        <div class="plot" ref={box} aria-hidden="true">
          {at >= 0 && pointed.value && (
            <div class={"event" + (isRight(plot.current) ? " left" : "")}>
              <i style={{ background: `var(${markKinds[pointed.value.kind][0]})` }} />
              <span>
                <b>{clock(pointed.value.at)}</b> {textOf(pointed.value)}
              </span>
            </div>
          )}
        </div>
      ) : (
        <div class="none">{trends.times.length === 0 ? "Measuring…" : "Nothing measured in this time"}</div>
      )}
    </figure>
  );
}

/** Whether the cursor is in the right half of a chart. */
const isRight = (u: uPlot | null) => u !== null && u.cursor.left! > u.bbox.width / devicePixelRatio / 2;

/** What happened, and at which server if that is not in its text. */
const textOf = (e: Marked) =>
  (e.servers && e.kind !== "finding" ? `Server ${e.servers[0]}: ` : "") + plain(capital(e.text));

function last(values: (number | null)[]): number | null {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] !== null) return values[i];
  return null;
}

/** The course of a figure as a small line without axes. It says nothing that a chart does not say, too. */
export function Spark({ of, color }: { of: (number | null)[]; color: string }) {
  const width = 100,
    height = 24,
    foot = height - 1;
  const most = 1.3 * Math.max(...of.map((v) => v ?? 0), 1e-9),
    step = width / Math.max(of.length - 1, 1);
  let line = "",
    area = "",
    begin = -1;
  of.forEach((v, i) => {
    if (v === null) return;
    const x = (i * step).toFixed(1),
      isOpen = i > 0 && of[i - 1] !== null;
    const point = `${x} ${(foot - (v / most) * (foot - 2)).toFixed(1)}`;
    if (!isOpen) begin = i;
    line += (isOpen ? "L" : "M") + point;
    area += isOpen ? "L" + point : `M${x} ${height}L${point}`;
    if ((of[i + 1] ?? null) === null) area += `L${x} ${height}L${(begin * step).toFixed(1)} ${height}Z`;
  });
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={area} class="area" style={{ fill: `var(${color})` }} />
      <path d={line} style={{ stroke: `var(${color})` }} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
