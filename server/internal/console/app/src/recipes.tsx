// Locks, elections, queues and the like: who holds, who waits.
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { Key, TriangleAlert } from "lucide";
import { get, user, type Recipe, type Recipes as Page } from "./api";
import { ago, capital, count, Name, plain } from "./format";
import { Button, Empty, Field, Note, SessionLink, Skeleton, stateTones, Tag, useTry } from "./parts";
import { amend, param, to } from "./router";
import { Waiting } from "./waiting";

export function Recipes() {
  const under = useSignal(param("under", "/")),
    all = useSignal<Recipe[] | null>(null),
    after = useSignal(""),
    visited = useSignal(0);
  const [busy, trouble, attempt] = useTry();
  const load = (on: boolean) =>
    attempt(async () => {
      const p = await get<Page>("recipes", {
        under: under.value || "/",
        limit: 200,
        after: on ? after.value : undefined,
      });
      all.value = on ? [...(all.value ?? []), ...p.recipes] : p.recipes;
      visited.value = (on ? visited.value : 0) + p.visited;
      after.value = p.after;
    });
  useLayoutEffect(() => void load(false), [user.value]);
  return (
    <div class="page" id="recipes">
      <header>
        <h1>Locks and recipes</h1>
      </header>
      <form
        class="row wrap"
        style={{ alignItems: "end" }}
        onSubmit={(e) => {
          e.preventDefault();
          amend("recipes", { under: under.value });
          void load(false);
        }}
      >
        <div class="grow" style={{ maxWidth: "480px" }}>
          <Field label="Below">
            {(id) => (
              <input
                id={id}
                class="input mono"
                spellcheck={false}
                value={under.value}
                onInput={(e) => (under.value = e.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <Button type="submit" disabled={busy}>
          Look
        </Button>
      </form>
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
      {!all.value && !trouble && <Skeleton rows={6} />}
      {all.value && (
        <p class="dim">
          {count(all.value.length)} found among {count(visited.value)} znodes{after.value ? " so far" : ""}.
        </p>
      )}
      {all.value?.length === 0 && !after.value && (
        <div class="card">
          <Empty icon={Key} title="No lock, queue or other recipe found">
            Names and data decide what a znode is taken for.
          </Empty>
        </div>
      )}
      {all.value && all.value.length > 0 && <Waiting recipes={all.value} whole={!after.value} />}
      <div class="cards">
        {all.value?.map((r) => (
          <One key={r.path + r.kind} r={r} />
        ))}
      </div>
      {after.value && (
        <div>
          <Button onClick={() => load(true)} disabled={busy}>
            Go on
          </Button>
        </div>
      )}
    </div>
  );
}

function One({ r }: { r: Recipe }) {
  return (
    <section class="card" aria-label={plain(r.path)}>
      <header>
        <h2 class="cut as-h3">
          <a href={to("tree", { path: r.path })}>
            <Name of={r.path} />
          </a>
        </h2>
        <Tag tone="info">{r.sure ? capital(r.kind) : "Perhaps " + r.kind}</Tag>
      </header>
      <div class="small faint" style={{ padding: "8px 16px" }}>
        {r.layout}
        {r.note && ". " + r.note}
      </div>
      {r.members.length === 0 ? (
        <p class="dim" style={{ padding: "8px 16px 16px" }}>
          No members
        </p>
      ) : (
        <ol class="holders">
          {r.members.slice(0, 12).map((m) => (
            <li key={m.path}>
              <span>
                <Tag tone={stateTones[m.state] ?? ""}>{m.state}</Tag>
              </span>
              <span class="cut" title={plain(m.text || m.path)}>
                {m.session ? (
                  <SessionLink label={m.session} />
                ) : (
                  <a href={to("tree", { path: m.path })}>
                    <Name of={m.path.slice(r.path.length + 1) || m.path} />
                  </a>
                )}
                {m.text && <span class="faint"> {plain(m.text)}</span>}
              </span>
              <span class="small faint nowrap">{m.since ? ago(m.since) : ""}</span>
            </li>
          ))}
          {r.total > Math.min(12, r.members.length) && (
            <li class="faint">and {count(r.total - Math.min(12, r.members.length))} more</li>
          )}
        </ol>
      )}
    </section>
  );
}
