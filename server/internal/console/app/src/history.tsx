// The history of a znode, from the files of the server: a timeline, of which any two points are compared.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { History as HistoryIcon, LogIn, RotateCcw, TriangleAlert } from "lucide";
import { get, identity, type Former, type History, type Version, type Znode } from "./api";
import { editable, formatOf, indent } from "./data";
import { keepDraft } from "./drafts";
import { DiffView } from "./editor";
import { mayWrite } from "./facts";
import { ago, bytes, capital, local, of, Time } from "./format";
import { Painted } from "./highlight";
import { Button, Empty, LogInButton, Note, SessionLink, Skeleton, Tag, tones, useGet, useTry } from "./parts";
import { go } from "./router";

/** What names a version: a txn may both delete and create a znode. */
const keyOf = (v: Version) => v.zxid + v.kind;
const nameOf = (v: Version) => (v.version < 0 ? capital(v.kind) : "Version " + v.version);

export function HistoryTab({ path, mzxid }: { path: string; mzxid?: string }) {
  const who = identity.value?.user;
  const h = useGet<History>(who ? "history" : null, { path });
  const first = useRef(mzxid);
  useEffect(() => {
    if (mzxid !== first.current) h.refresh();
    first.current = mzxid;
  }, [mzxid]);
  if (!who) {
    return <Empty icon={LogIn} title="History needs a login" action={<LogInButton />} />;
  }
  if (h.trouble)
    return (
      <Note tone="bad" icon={TriangleAlert}>
        {h.trouble.message}
      </Note>
    );
  if (!h.data) return <Skeleton rows={5} />;
  if (h.data.versions.length === 0)
    return (
      <Empty icon={HistoryIcon} title="No versions found">
        The files of this server have no version of this znode.
      </Empty>
    );
  return (
    <>
      <p class="small faint">
        From the log and the snapshots of this server, since txn <code>{h.data.from}</code>.
        {h.data.cut && " Older versions were not read."}
        {h.data.hidden > 0 && ` ${h.data.hidden} may not be shown to you.`}
      </p>
      <Timeline path={path} all={h.data.versions} />
    </>
  );
}

/** All versions, the newest first, and what has changed between two of them. The newest two are chosen at first. */
function Timeline({ path, all }: { path: string; all: Version[] }) {
  const chosenTo = useSignal(""),
    chosenFrom = useSignal("");
  const [busy, trouble, attempt] = useTry();
  const whole = all.filter((v) => v.hasData);
  const at = (key: string, usual: number) => {
    const i = whole.findIndex((v) => keyOf(v) === key);
    return i < 0 ? usual : i;
  };
  const to = at(chosenTo.value, 0),
    from = at(chosenFrom.value, to + 1);
  const after: Version | undefined = whole[to],
    before: Version | undefined = whole[from];
  const ends = [after, before].filter((v) => v !== undefined).map((v) => all.indexOf(v));
  const choose = (f: Version | undefined, t: Version | undefined) => {
    chosenFrom.value = f ? keyOf(f) : ""; // the one before
    chosenTo.value = t ? keyOf(t) : "";
  };
  const chooseFrom = (v: Version) => choose(v, after),
    chooseTo = (v: Version) => choose(whole.indexOf(v) < from ? before : undefined, v);
  const restore = (v: Version) =>
    attempt(async () => {
      const [z, f] = await Promise.all([
        get<Znode>("znode", { path }),
        get<Former>("version", { path, zxid: v.zxid }),
      ]);
      const mine = editable(z);
      if (mine.encoding !== f.encoding) throw new Error("It can be set by the API only: one of the two is no text");
      keepDraft(path, { text: f.data ?? "", encoding: f.encoding, version: z.stat.version, base: mine.text });
      go("tree", { path });
    });
  return (
    <>
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
      {all.length > 1 && <Axis all={all} before={before} after={after} choose={choose} chooseTo={chooseTo} />}
      <div class="history">
        <div class="card timeline">
          <div class="heads small dim" aria-hidden="true">
            <span>From</span>
            <span>To</span>
          </div>
          <ol aria-label="Versions">
            {all.map((v, i) => {
              const [upper, lower] = [Math.min(...ends), Math.max(...ends)];
              const place =
                i === upper || i === lower
                  ? `end ${upper === lower ? "" : i === upper ? "upper" : "lower"}`
                  : i > upper && i < lower && "within";
              const ofDay = local(v.at).slice(0, 10);
              const radio = (name: "from" | "to", chosen: Version | undefined, choose: (v: Version) => void) => (
                <input
                  type="radio"
                  name={name}
                  aria-label={`Compare ${name} ${nameOf(v)}, txn ${v.zxid}`}
                  title={name === "from" ? "Compare from here" : "Compare to here"}
                  disabled={!v.hasData}
                  checked={v === chosen}
                  onChange={() => choose(v)}
                />
              );
              return (
                <li key={keyOf(v)} class={[tones[v.kind] ?? "", place].filter(Boolean).join(" ")}>
                  {(i === 0 || ofDay !== local(all[i - 1].at).slice(0, 10)) && v.at > 0 && (
                    <span class="day">{ofDay}</span>
                  )}
                  <span class="ends">
                    {radio("from", before, chooseFrom)}
                    {radio("to", after, chooseTo)}
                  </span>
                  <span class="point" aria-hidden="true" />
                  <span class="what">
                    <span class="row wrap">
                      <b>{nameOf(v)}</b>
                      <Tag tone={tones[v.kind] ?? ""}>{capital(v.kind)}</Tag>
                    </span>
                    <span class="small faint row wrap">
                      <span class="dim" title={v.at > 0 ? ago(v.at) : ""}>
                        <Time at={v.at} />
                      </span>
                      {v.hasData && <span>{bytes(v.size)}</span>}
                      <code>{v.zxid}</code>
                      {v.session && (
                        <span>
                          by <SessionLink label={v.session} />
                        </span>
                      )}
                    </span>
                  </span>
                  {v.hasData && mayWrite() && (
                    <Button
                      quiet
                      small
                      icon={RotateCcw}
                      label={`Edit from ${nameOf(v).toLowerCase()}`}
                      disabled={busy}
                      onClick={() => restore(v)}
                    />
                  )}
                </li>
              );
            })}
          </ol>
        </div>
        {after && <Compared path={path} before={before} after={after} />}
      </div>
    </>
  );
}

/** Where on the axis of time a version is, in percent. Those that have no time are at its begin. */
function placesOf(all: Version[]): (v: Version) => number {
  const times = all.map((v) => v.at).filter((at) => at > 0);
  const first = Math.min(...times),
    span = Math.max(...times) - first || 1;
  return (v) => (v.at > 0 ? (100 * (v.at - first)) / span : 0);
}

/** The versions in time: a click chooses the one to which is compared, a drag also the one from which. */
function Axis({
  all,
  before,
  after,
  choose,
  chooseTo,
}: {
  all: Version[];
  before?: Version;
  after?: Version;
  choose: (from: Version, to: Version) => void;
  chooseTo: (v: Version) => void;
}) {
  const place = placesOf(all),
    box = useRef<HTMLDivElement>(null),
    began = useRef<number | null>(null);
  const nearest = (x: number) => {
    const r = box.current!.getBoundingClientRect(),
      at = (100 * (x - r.left)) / r.width;
    return all.filter((v) => v.hasData).reduce((a, b) => (Math.abs(place(b) - at) < Math.abs(place(a) - at) ? b : a));
  };
  const end = (x: number) => {
    const start = began.current;
    if (start === null || !all.some((v) => v.hasData)) return;
    if (Math.abs(x - start) < 6) chooseTo(nearest(x));
    else choose(nearest(Math.min(x, start)), nearest(Math.max(x, start)));
  };
  const ends = [before, after].filter((v) => v !== undefined).map(place);
  const times = all.map((v) => v.at).filter((at) => at > 0);
  return (
    <figure class="card axis" aria-label="Versions in time">
      <div
        class="plane"
        ref={box}
        aria-hidden="true"
        onPointerDown={(e) => {
          began.current = e.clientX;
          e.currentTarget.setPointerCapture(e.pointerId);
        }}
        onPointerUp={(e) => {
          end(e.clientX);
          began.current = null;
        }}
        onPointerCancel={() => (began.current = null)}
      >
        {ends.length === 2 && (
          <span class="span" style={{ left: Math.min(...ends) + "%", width: Math.abs(ends[0] - ends[1]) + "%" }} />
        )}
        {all.map((v) => (
          <i
            key={keyOf(v)}
            class={(tones[v.kind] ?? "") + (v === before || v === after ? " end" : "")}
            style={{ left: place(v) + "%" }}
            title={`${nameOf(v)}, ${local(v.at)}`}
          />
        ))}
      </div>
      <figcaption class="row small faint">
        <span class="grow">{times.length > 0 && <Time at={Math.min(...times)} />}</span>
        <span class="nowrap">{of(all.length, "version")}</span>
        <span class="grow num">{times.length > 0 && <Time at={Math.max(...times)} />}</span>
      </figcaption>
    </figure>
  );
}

/** What has changed from one version to another, or the data of one before which there is none. */
function Compared({ path, before, after }: { path: string; before?: Version; after: Version }) {
  const now = useGet<Former>("version", { path, zxid: after.zxid });
  const then = useGet<Former>(before ? "version" : null, { path, zxid: before?.zxid });
  const wrong = now.trouble ?? then.trouble;
  const format = now.data?.encoding === "utf-8" ? formatOf(now.data.data ?? "") : "text";
  const laid = (f: Former | null) => (formatOf(f?.data ?? "") === "json" ? indent(f!.data!) : (f?.data ?? ""));
  return (
    <section class="card compared" aria-label="Difference">
      <header>
        <h2>{before ? `${nameOf(before)} → ${nameOf(after).toLowerCase()}` : nameOf(after)}</h2>
        <span class="small faint">{before ? `${bytes(before.size)} → ${bytes(after.size)}` : bytes(after.size)}</span>
      </header>
      {wrong && (
        <Note tone="bad" icon={TriangleAlert}>
          {wrong.message}
        </Note>
      )}
      {now.data && !before ? (
        <pre class="code" role="region" tabIndex={0} aria-label={`Data of txn ${after.zxid}`}>
          <Painted text={laid(now.data)} format={format} />
        </pre>
      ) : now.data && then.data ? (
        <DiffView
          key={keyOf(after) + keyOf(before!)}
          before={laid(then.data)}
          after={laid(now.data)}
          format={format}
          label={`From txn ${before!.zxid} to ${after.zxid}`}
        />
      ) : (
        !wrong && (
          <div class="body">
            <Skeleton rows={4} />
          </div>
        )
      )}
    </section>
  );
}
