// Every setting: its value, its default, and where it was made; and where servers differ.
import { useSignal } from "@preact/signals";
import { Equal, Settings, TriangleAlert } from "lucide";
import type { Setting } from "./api";
import { plain } from "./format";
import { Button, Empty, Note, Segments, Skeleton, Tag } from "./parts";
import { param } from "./router";
import { Table, type Column } from "./table";
import { alter, chosen, idOf, ServerPick, Unheard, useEach, type Told } from "./which";

type Answer = { settings: Setting[] };

export function Configuration() {
  const which = chosen("own"),
    many = which.length > 1;
  const [told] = useEach<Answer>("configuration", which);
  const find = useSignal(param("find")),
    every = param("all") !== "";
  const word = find.value.trim().toLowerCase();
  const fits = (s: { name: string; value: string }) => !word || (s.name + " " + s.value).toLowerCase().includes(word);
  const heard = told.some((t) => t.data !== null);
  const showAll = () => alter("configuration", { all: 1 });
  return (
    <div class="page" id="configuration">
      <header>
        <h1>Configuration</h1>
        <input
          class="input look"
          type="search"
          placeholder="Setting or value"
          aria-label="Filter settings"
          value={find.value}
          onInput={(e) => {
            find.value = e.currentTarget.value;
            alter("configuration", { find: find.value });
          }}
        />
        <ServerPick page="configuration" usual="own" />
        <Segments
          label="Which settings"
          value={every ? "all" : "set"}
          of={[
            ["set", many ? "Differ" : "Set"],
            ["all", "All"],
          ]}
          pick={(v) => alter("configuration", { all: v === "all" && 1 })}
        />
      </header>
      {heard && (
        <p class="dim">
          {many
            ? "A setting that differs is marked. Most should be alike; addresses, ports and folders need not be."
            : "A changed value takes effect at the next start unless the table says otherwise. Key stores are read " +
              "again when their files change, and a reconfiguration changes the list of servers."}
        </p>
      )}
      {many && <Unheard of={told} />}
      {!many && told[0].trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {told[0].trouble.message}
        </Note>
      )}
      {!heard && !told.some((t) => t.trouble) && <Skeleton rows={8} />}
      {heard && (
        <div class="card">
          {many ? (
            <Beside told={told} fits={fits} every={every} word={word} showAll={showAll} />
          ) : (
            <Own of={told[0].data!.settings} fits={fits} every={every} word={word} showAll={showAll} />
          )}
        </div>
      )}
    </div>
  );
}

/** A name that a line may break before a dot and inside of a long word. */
const breakable = (name: string) =>
  name.split(/(?=\.)|(?<=[a-z]{3})(?=[A-Z][a-z]{2})/).flatMap((part, i) => (i ? [<wbr key={i} />, part] : part));

interface Look {
  fits: (s: { name: string; value: string }) => boolean;
  every: boolean;
  word: string;
  showAll: () => void;
}

function Own({ of: all, fits, every, word, showAll }: Look & { of: Setting[] }) {
  const rows = all.filter((s) => (every || s.origin) && fits(s));
  if (rows.length === 0)
    return (
      <Empty
        icon={Settings}
        title={word ? "No setting matches" : "Every setting has its default"}
        action={!every && <Button onClick={showAll}>{word ? "Look in all settings" : "Show all settings"}</Button>}
      />
    );
  return (
    <Table
      label="Settings"
      rows={rows}
      keyOf={(s) => s.name}
      columns={[
        { name: "Setting", wrap: true, by: (s) => s.name, cell: (s) => <code>{breakable(s.name)}</code> },
        {
          name: "Value",
          wrap: true,
          cell: (s) => (
            <span class="row wrap">
              <code>{plain(s.value) || "–"}</code>
              {s.origin && s.value !== s.default && <Tag tone="info">Changed</Tag>}
            </span>
          ),
        },
        { name: "Default", wrap: true, cell: (s) => <code class="dim">{plain(s.default) || "–"}</code> },
        {
          name: "Applies after",
          minor: true,
          by: (s) => s.live,
          cell: (s) => (s.live ? <Tag tone="good">{s.live}</Tag> : <span class="faint">A restart</span>),
        },
        {
          name: "Set in",
          wrap: true,
          minor: true,
          by: (s) => s.origin,
          cell: (s) => (s.origin ? <span class="dim">{s.origin}</span> : <span class="faint">Default</span>),
        },
      ]}
    />
  );
}

interface Row {
  name: string;
  value: string;
  values: Map<number, string>;
  differs: boolean;
}

/** The settings of all servers, with those in which they differ. */
function Beside({ told, fits, every, word, showAll }: Look & { told: Told<Answer>[] }) {
  const heard = told.filter((t) => t.data !== null);
  const rows = new Map<string, Row>();
  for (const t of heard) {
    for (const s of t.data!.settings) {
      const row = rows.get(s.name) ?? { name: s.name, value: "", values: new Map(), differs: false };
      row.values.set(idOf(t.which), s.value);
      row.value += " " + s.value;
      rows.set(s.name, row);
    }
  }
  for (const row of rows.values())
    row.differs = row.values.size < heard.length || new Set(row.values.values()).size > 1;
  const shown = [...rows.values()].filter((r) => (every || r.differs) && fits(r));
  if (shown.length === 0)
    return (
      <Empty
        icon={word ? Settings : Equal}
        title={word ? "No setting matches" : "All servers have the same settings"}
        action={!every && <Button onClick={showAll}>{word ? "Look in all settings" : "Show all settings"}</Button>}
      />
    );
  const columns: Column<Row>[] = [
    {
      name: "Setting",
      by: (r) => r.name,
      wrap: true,
      cell: (r) => (
        <span class="row wrap">
          <code>{breakable(r.name)}</code>
          {every && r.differs && <Tag tone="info">Differs</Tag>}
        </span>
      ),
    },
    ...told.map((t): Column<Row> => ({
      name: `Server ${idOf(t.which)}`,
      wrap: true,
      cell: (r) =>
        t.data === null ? (
          <span class="faint">Not known</span>
        ) : (
          <code class={r.differs ? "" : "dim"}>{plain(r.values.get(idOf(t.which)) ?? "") || "–"}</code>
        ),
    })),
  ];
  return <Table label="Settings of all servers" rows={shown} keyOf={(r) => r.name} columns={columns} />;
}
