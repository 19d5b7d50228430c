// What changes at and below a path, as it happens.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Pause, Play, Radio, TriangleAlert } from "lucide";
import { capital, clock, Name, waiting } from "./format";
import { Button, Dot, Empty, Field, Note, Tag, tones, useTyped } from "./parts";
import { amend, param, to } from "./router";
import { Table } from "./table";

interface Happening {
  type: string;
  path: string;
  zxid: string;
  at: number;
  n: number;
}

const most = 500;

export function Live() {
  const path = param("path", "/"),
    typed = useTyped(path),
    state = useSignal<"begins" | "follows" | "over">("begins");
  const why = useSignal(""),
    rows = useSignal<Happening[]>([]),
    paused = useSignal(false),
    held = useRef<Happening[]>([]);
  const n = useRef(0),
    missed = useSignal(0),
    gap = useSignal(false),
    turn = useSignal(0);
  useEffect(() => {
    rows.value = [];
    gap.value = false;
    state.value = "begins";
    const source = new EventSource("api/v1/changes?path=" + encodeURIComponent(path));
    source.addEventListener("ready", () => (state.value = "follows"));
    source.addEventListener("change", (e) => {
      const h = { ...JSON.parse((e as MessageEvent).data), n: n.current++ } as Happening;
      held.current = [h, ...held.current].slice(0, most);
      if (paused.value) missed.value = held.current.length;
    });
    source.addEventListener("end", (e) => {
      state.value = "over";
      why.value = `The stream has ended: ${JSON.parse((e as MessageEvent).data).reason}`;
      source.close();
    });
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) {
        gap.value ||= state.value === "follows";
        state.value = "begins";
        return;
      }
      state.value = "over";
      why.value = "The server does not allow a stream now, or does not answer";
    });
    // A burst is shown once in a while, not line by line.
    const timer = setInterval(() => {
      if (paused.value || held.current.length === 0) return;
      rows.value = [...held.current, ...rows.value].slice(0, most);
      held.current = [];
      missed.value = 0;
    }, 150);
    return () => {
      clearInterval(timer);
      held.current = [];
      source.close();
    };
  }, [path, turn.value]);
  return (
    <div class="page" id="live">
      <header>
        <h1>Live changes</h1>
        <span class="row" role="status">
          <Dot tone={state.value === "follows" ? "good" : state.value === "over" ? "bad" : "warn"} />
          {state.value === "follows"
            ? paused.value
              ? `Paused, ${waiting(missed.value)}`
              : "Following"
            : state.value === "over"
              ? "Ended"
              : "Connecting…"}
        </span>
        <Button
          icon={paused.value ? Play : Pause}
          aria-pressed={paused.value}
          onClick={() => (paused.value = !paused.value)}
        >
          {paused.value ? "Resume" : "Pause"}
        </Button>
      </header>
      <form
        class="row wrap"
        onSubmit={(e) => {
          e.preventDefault();
          amend("live", { path: typed.value });
        }}
      >
        <div class="grow" style={{ maxWidth: "480px" }}>
          <Field label="At and below">
            {(id) => (
              <input
                id={id}
                class="input mono"
                spellcheck={false}
                value={typed.value}
                onInput={(e) => (typed.value = e.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <Button type="submit">Follow</Button>
      </form>
      {state.value === "over" && (
        <Note tone="warn" icon={TriangleAlert}>
          {why.value || "The stream has ended"}.{" "}
          <Button small onClick={() => turn.value++}>
            Follow again
          </Button>
        </Note>
      )}
      {gap.value && (
        <Note tone="warn" icon={TriangleAlert}>
          The connection was interrupted: changes of that time are missing here.
        </Note>
      )}
      <div class="card">
        {rows.value.length === 0 ? (
          <Empty icon={Radio} title="No changes yet">
            They appear here as they happen.
          </Empty>
        ) : (
          <Table
            label="Changes"
            rows={rows.value.slice(0, 200)}
            keyOf={(h) => String(h.n)}
            columns={[
              { name: "Time", cell: (h) => <span class="num">{clock(h.at)}</span> },
              { name: "Change", plain: true, cell: (h) => <Tag tone={tones[h.type] ?? ""}>{capital(h.type)}</Tag> },
              {
                name: "Znode",
                wrap: true,
                plain: true,
                cell: (h) => (
                  <a href={to("tree", { path: h.path })}>
                    <Name of={h.path} />
                  </a>
                ),
              },
              { name: "Txn", minor: true, cell: (h) => <code>{h.zxid || "–"}</code> },
            ]}
          />
        )}
      </div>
    </div>
  );
}
