// Every setting of this server: its value, its default, and where it was made.
import { useSignal } from "@preact/signals";
import { Settings, TriangleAlert } from "lucide";
import type { Setting } from "./api";
import { plain } from "./format";
import { Button, Empty, Note, Segments, Skeleton, Tag, useGet } from "./parts";
import { amend, param } from "./router";
import { Table } from "./table";

export function Configuration() {
  const c = useGet<{ settings: Setting[] }>("configuration");
  const find = useSignal(param("find")),
    all = param("all") !== "";
  const word = find.value.trim().toLowerCase();
  const rows = (c.data?.settings ?? []).filter(
    (s) => (all || s.origin) && (!word || (s.name + " " + s.value).toLowerCase().includes(word)),
  );
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
            amend("configuration", { find: find.value, all: all && 1 });
          }}
        />
        <Segments
          label="Which settings"
          value={all ? "all" : "set"}
          of={[
            ["set", "Set"],
            ["all", "All"],
          ]}
          pick={(v) => amend("configuration", { find: find.value, all: v === "all" && 1 })}
        />
      </header>
      {c.data && (
        <p class="dim">
          Of this server. A changed value takes effect at the next start unless the table says otherwise. Key stores
          are read again when their files change, and a reconfiguration changes the list of servers.
        </p>
      )}
      {c.trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {c.trouble.message}
        </Note>
      )}
      {!c.data && !c.trouble && <Skeleton rows={8} />}
      {c.data && (
        <div class="card">
          {rows.length === 0 ? (
            <Empty
              icon={Settings}
              title={word ? "No setting matches" : "Every setting has its default"}
              action={
                !all && (
                  <Button onClick={() => amend("configuration", { find: find.value, all: 1 })}>
                    {word ? "Look in all settings" : "Show all settings"}
                  </Button>
                )
              }
            />
          ) : (
            <Table
              label="Settings"
              rows={rows}
              keyOf={(s) => s.name}
              columns={[
                { name: "Setting", by: (s) => s.name, cell: (s) => <code>{s.name}</code> },
                {
                  name: "Value",
                  wrap: true,
                  cell: (s) => (
                    <span class="row wrap">
                      <code>{plain(s.value) || "–"}</code>
                      {s.origin && s.value !== s.default && <Tag tone="info">changed</Tag>}
                    </span>
                  ),
                },
                { name: "Default", wrap: true, cell: (s) => <code class="dim">{plain(s.default) || "–"}</code> },
                {
                  name: "A change needs",
                  by: (s) => s.live,
                  cell: (s) => (s.live ? <Tag tone="good">{s.live}</Tag> : <span class="faint">A restart</span>),
                },
                {
                  name: "Set in",
                  wrap: true,
                  by: (s) => s.origin,
                  cell: (s) => (s.origin ? <span class="dim">{s.origin}</span> : <span class="faint">Default</span>),
                },
              ]}
            />
          )}
        </div>
      )}
    </div>
  );
}
