// The activity of a znode: its reads and writes while somebody looks, and its writes in the log.
import { ChartNoAxesColumn, LogIn, TriangleAlert } from "lucide";
import { identity, type Activity, type History, type Trends } from "./api";
import { Chart } from "./charts";
import { duration, Time } from "./format";
import { Empty, LogInButton, Note, Skeleton, useGet } from "./parts";
import { allServers, idOf, together, Unheard, useEach } from "./which";

export function ActivityTab({ path }: { path: string }) {
  const who = identity.value?.user;
  if (!who) return <Empty icon={LogIn} title="Activity needs a login" action={<LogInButton />} />;
  return (
    <>
      <h2 class="sr">Activity</h2>
      <Now path={path} />
      <Before path={path} />
    </>
  );
}

const minute = 60_000;

/** Reads and writes at all servers, from the first look on. */
function Now({ path }: { path: string }) {
  const [told] = useEach<Activity>("activity", allServers(), () => ({ path }), 2000, path);
  const heard = told.filter((t) => t.data !== null);
  if (heard.length === 0) {
    const trouble = told.find((t) => t.trouble)?.trouble;
    return trouble ? (
      <Note tone="bad" icon={TriangleAlert}>
        {trouble.message}
      </Note>
    ) : (
      <Skeleton rows={5} />
    );
  }
  const off = heard.filter((t) => !t.data!.enabled),
    counted = heard.filter((t) => t.data!.enabled);
  const oneIn = Math.max(...heard.map((t) => t.data!.oneIn));
  const trends = together(counted);
  return (
    <>
      <Unheard of={told} />
      {off.length > 0 && (
        <Note tone="info" icon={ChartNoAxesColumn}>
          {counted.length === 0
            ? "Nothing is counted"
            : `Nothing is counted at server ${off.map((t) => idOf(t.which)).join(", ")}`}
          : <code>warren.top.enabled</code> is false.
        </Note>
      )}
      {trends && (
        <div id="activity">
          <Chart
            title="Requests"
            trends={{ ...trends, events: [] }}
            from={Date.now() - 10 * minute}
            u="/s"
            floor={5}
            lines={[
              { name: "Reads", series: "reads@sum", color: "--c1", fill: true },
              { name: "Writes", series: "writes@sum", color: "--c2", fill: true },
            ]}
          />
        </div>
      )}
      {trends && (
        <p class="small faint">
          At all servers together, since somebody has begun to look; for ten minutes.
          {oneIn > 1 && ` One request of ${oneIn} is recorded, and counts for all.`}
        </p>
      )}
    </>
  );
}

const slots = 60;

/** How many of the times fall into each of the slots between the first and now. */
function spread(times: number[]): Trends {
  const now = Date.now(),
    first = Math.min(...times),
    every = Math.max(1000, Math.ceil((now - first) / slots));
  const counts = Array.from({ length: slots }, () => 0);
  for (const t of times) counts[Math.min(slots - 1, Math.floor((t - first) / every))]++;
  return {
    everyMs: every,
    times: counts.map((_, i) => first + i * every).filter((t) => t + every <= now), // the last one is not over
    series: [{ name: "writes", unit: "", values: counts }],
    events: [],
  };
}

/** The writes that the log of this server has. */
function Before({ path }: { path: string }) {
  const h = useGet<History>("history", { path });
  if (h.trouble)
    return (
      <Note tone="warn" icon={TriangleAlert}>
        {h.trouble.message}
      </Note>
    );
  if (!h.data) return <Skeleton rows={5} />;
  const times = h.data.versions.filter((v) => v.kind !== "found" && v.at > 0).map((v) => v.at);
  if (times.length === 0)
    return (
      <Empty icon={ChartNoAxesColumn} title="No writes in the log">
        The log of this server reaches back to txn <code>{h.data.from || "–"}</code>.
      </Empty>
    );
  const trends = spread(times);
  return (
    <>
      <Chart
        title="Writes in the log"
        trends={trends}
        from={trends.times[0]}
        u=""
        floor={4}
        lines={[{ name: `Writes in ${duration(trends.everyMs)}`, series: "writes", color: "--c2", fill: true }]}
      />
      <p class="small faint">
        {h.data.cut ? `The newest ${times.length}` : `${times.length}`} since <Time at={Math.min(...times)} />, by the
        log of this server. Reads leave no trace there.
      </p>
    </>
  );
}
