// Locks, elections, queues and the like: who holds, who waits.
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { Key, TriangleAlert } from "lucide";
import { get, user, type Recipe, type Recipes as Page } from "./api";
import { capital, count, duration, found, Name, of, plain } from "./format";
import {
  Button,
  Empty,
  Field,
  Note,
  Segments,
  SessionLink,
  Skeleton,
  stateTones,
  Tag,
  useTry,
  useTyped,
} from "./parts";
import { amend, param, to } from "./router";
import { Table } from "./table";
import { Waiting } from "./waiting";

/** The first member that has what others wait for, if one has. */
const holderOf = (r: Recipe) => r.members.find((m) => ["holds", "leads", "inside"].includes(m.state));
const holdersOf = (r: Recipe) => r.members.filter((m) => m.state === holderOf(r)?.state).length;

/** How many wait. Who is beyond the members that were looked at waits, too. */
function waitersOf(r: Recipe): number {
  const seen = r.members.filter((m) => m.state === "waits").length;
  return seen > 0 ? seen + r.total - r.members.length : 0;
}

/** For how many ms it is held, -1 if it is not, or that is not known. */
const heldFor = (r: Recipe) => {
  const since = holderOf(r)?.since ?? 0;
  return since ? Date.now() - since : -1;
};

/** What a recipe is, as far as that can be told. */
export const kindOf = (r: Recipe) =>
  r.sure ? (
    capital(r.kind)
  ) : (
    <span title="Judged by its names and data">
      {capital(r.kind)}&nbsp;<span class="faint">perhaps</span>
    </span>
  );

const spans: [string, string][] = [
  ["", "Any time"],
  ["60000", "1 minute or longer"],
  ["600000", "10 minutes or longer"],
  ["3600000", "1 hour or longer"],
  ["86400000", "1 day or longer"],
];

export function Recipes() {
  const under = useTyped(param("under", "/")),
    all = useSignal<Recipe[] | null>(null),
    after = useSignal(""),
    visited = useSignal(0);
  const kind = param("kind"),
    find = param("find"),
    held = param("held"),
    waits = param("waits");
  const [busy, trouble, attempt] = useTry();
  const load = (on: boolean) =>
    attempt(async () => {
      const p = await get<Page>("recipes", {
        under: param("under", "/"), // not what is typed and not asked for yet
        limit: 200,
        after: on ? after.value : undefined,
      });
      all.value = on ? [...(all.value ?? []), ...p.recipes] : p.recipes;
      visited.value = (on ? visited.value : 0) + p.visited;
      after.value = p.after;
    });
  useLayoutEffect(() => void load(false), [user.value]);
  const filter = (change: Record<string, string>) =>
    amend("recipes", { under: param("under"), kind, find, held, waits, ...change });
  const kinds = new Map<string, number>();
  for (const r of all.value ?? []) kinds.set(r.kind, (kinds.get(r.kind) ?? 0) + 1);
  const word = find.trim().toLowerCase();
  const rows = (all.value ?? []).filter(
    (r) =>
      (!kind || r.kind === kind) &&
      (!held || heldFor(r) >= Number(held)) &&
      (!waits || waitersOf(r) > 0) &&
      (!word || [r.path, ...r.members.flatMap((m) => [m.session, m.text])].join("\n").toLowerCase().includes(word)),
  );
  return (
    <div class="page" id="recipes">
      <header>
        <h1>Locks and recipes</h1>
        <form
          class="row"
          onSubmit={(e) => {
            e.preventDefault();
            filter({ under: under.value });
            void load(false);
          }}
        >
          <input
            class="input mono"
            aria-label="At and below"
            title="At and below this path"
            spellcheck={false}
            value={under.value}
            onInput={(e) => (under.value = e.currentTarget.value)}
          />
          <Button type="submit" disabled={busy}>
            Look below
          </Button>
        </form>
      </header>
      {all.value && (
        <p class="dim">
          {found(all.value.length, visited.value, "at and below " + plain(param("under", "/")), !!after.value)}.
        </p>
      )}
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
      {!all.value && !trouble && <Skeleton rows={6} />}
      {all.value?.length === 0 && !after.value && (
        <div class="card">
          <Empty icon={Key} title="No lock, queue or other recipe found">
            Recipes are recognized by the names and data of znodes.
          </Empty>
        </div>
      )}
      {all.value && all.value.length > 0 && (
        <>
          <Waiting recipes={all.value} whole={!after.value} />
          <div class="row wrap filter" role="group" aria-label="Filter">
            <Select
              label="Kind"
              value={kind}
              of={[["", "All kinds"], ...[...kinds].map(([k, n]): [string, string] => [k, `${capital(k)} (${n})`])]}
              pick={(kind) => filter({ kind })}
            />
            <Select label="Held for" value={held} of={spans} pick={(held) => filter({ held })} />
            <div style={{ minWidth: "240px" }}>
              <Field label="Session, payload or path">
                {(id) => (
                  <input
                    id={id}
                    class="input"
                    type="search"
                    spellcheck={false}
                    value={find}
                    onInput={(e) => filter({ find: e.currentTarget.value })}
                  />
                )}
              </Field>
            </div>
            <Segments
              label="Which"
              value={waits ? "waits" : "all"}
              of={[
                ["all", "All"],
                ["waits", "With waiters"],
              ]}
              pick={(v) => filter({ waits: v === "waits" ? "1" : "" })}
            />
            {rows.length < all.value.length && (
              <span class="small faint" role="status">
                {count(rows.length)} of {of(all.value.length, "recipe")} match
              </span>
            )}
          </div>
          <div class="card">
            {rows.length === 0 ? <Empty icon={Key} title="No recipe matches" /> : <All rows={rows} />}
          </div>
        </>
      )}
      {after.value && (
        <div>
          <Button onClick={() => load(true)} disabled={busy}>
            Load more
          </Button>
        </div>
      )}
    </div>
  );
}

function Select({
  label,
  value,
  of: all,
  pick,
}: {
  label: string;
  value: string;
  of: [string, string][];
  pick: (v: string) => void;
}) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} class="input" value={value} onChange={(e) => pick(e.currentTarget.value)}>
          {all.map(([v, text]) => (
            <option key={v} value={v}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function All({ rows }: { rows: Recipe[] }) {
  return (
    <Table
      label="Locks and recipes"
      rows={rows}
      keyOf={(r) => r.path + r.kind}
      columns={[
        {
          name: "Path",
          wrap: true,
          by: (r) => r.path,
          cell: (r) => (
            <a href={to("recipe", { path: r.path })}>
              <Name of={r.path} />
            </a>
          ),
        },
        { name: "Kind", plain: true, by: (r) => r.kind, cell: (r) => kindOf(r) },
        { name: "Holder or first", plain: true, by: (r) => holderOf(r)?.text ?? "", cell: (r) => <First r={r} /> },
        {
          name: "Held for",
          num: true,
          by: heldFor,
          cell: (r) => (heldFor(r) < 0 ? "–" : duration(heldFor(r))),
        },
        { name: "Waiting", num: true, by: waitersOf, cell: (r) => count(waitersOf(r)) },
        { name: "Members", num: true, by: (r) => r.total, cell: (r) => count(r.total) },
      ]}
    />
  );
}

function First({ r }: { r: Recipe }) {
  const m = holderOf(r) ?? r.members[0],
    holders = holdersOf(r);
  if (!m) return <>–</>;
  return (
    <span class="row">
      <Tag tone={stateTones[m.state] ?? ""}>{capital(m.state)}</Tag>
      {m.session && <SessionLink label={m.session} />}
      {m.text && (
        <span class="cut faint" style={{ maxWidth: "240px" }} title={plain(m.text)}>
          {plain(m.text)}
        </span>
      )}
      {holders > 1 && <span class="faint">and {count(holders - 1)} more</span>}
    </span>
  );
}
