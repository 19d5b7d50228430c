// Search: znodes whose path has a text.
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { Search as SearchIcon, TriangleAlert } from "lucide";
import { get, type Found } from "./api";
import { found, Name, plain } from "./format";
import { Button, Empty, Field, Note, Skeleton, useTry, useTyped } from "./parts";
import { amend, param, to } from "./router";

export function Search() {
  const under = useTyped(param("under", "/")),
    contains = useTyped(param("contains"));
  const paths = useSignal<string[]>([]),
    visited = useSignal(0),
    after = useSignal(""),
    missed = useSignal(false);
  const done = useSignal(false),
    sought = param("contains"); // what is typed counts once it is in the address
  const [busy, trouble, attempt] = useTry();
  const look = (on: boolean) =>
    attempt(async () => {
      const f = await get<Found>("search", {
        under: param("under", "/"),
        contains: param("contains"),
        limit: 200,
        after: on ? after.value : undefined,
      });
      paths.value = on ? paths.value.concat(f.paths) : f.paths;
      visited.value = (on ? visited.value : 0) + f.visited;
      missed.value = f.missed || (on && missed.value);
      after.value = f.after;
      done.value = true;
    });
  useLayoutEffect(() => {
    if (sought) void look(false);
  }, []);
  return (
    <div class="page">
      <header>
        <h1>Search</h1>
      </header>
      <form
        class="row wrap"
        role="search"
        onSubmit={(e) => {
          e.preventDefault();
          amend("search", { under: under.value, contains: contains.value });
          void look(false);
        }}
      >
        <div class="grow">
          <Field label="A part of the path">
            {(id) => (
              <input
                id={id}
                class="input mono"
                type="search"
                autofocus
                spellcheck={false}
                value={contains.value}
                onInput={(e) => (contains.value = e.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <div class="grow">
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
        <Button primary type="submit" icon={SearchIcon} disabled={!contains.value || busy}>
          Search
        </Button>
      </form>
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
      {!done.value && !contains.value && !trouble && (
        <div class="card">
          <Empty icon={SearchIcon} title="Find znodes by a part of their path">
            Any case, at any depth. Ctrl K searches pages, sessions and settings, too.
          </Empty>
        </div>
      )}
      {busy && paths.value.length === 0 && <Skeleton rows={5} />}
      {done.value && (
        <p class="dim" role="status" id="found">
          {found(paths.value.length, visited.value, "below " + plain(param("under", "/")), !!after.value)}.
          {missed.value && " The tree has changed meanwhile: some may be missing."}
        </p>
      )}
      {done.value && paths.value.length === 0 && !after.value && !busy && (
        <div class="card">
          <Empty icon={SearchIcon} title="No znode has this text in its path" />
        </div>
      )}
      {paths.value.length > 0 && (
        <div class="card scroll-x">
          <table class="t" aria-label="Znodes found">
            <tbody>
              {paths.value.map((p) => (
                <tr key={p}>
                  <td class="wrap">
                    <a href={to("tree", { path: p })}>
                      <Name of={p} mark={sought} />
                    </a>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {after.value && (
        <div>
          <Button disabled={busy} onClick={() => look(true)}>
            Load more
          </Button>
        </div>
      )}
    </div>
  );
}
