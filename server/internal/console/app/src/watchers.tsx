// The clients of this server that an event of a znode would tell.
import { Eye, TriangleAlert } from "lucide";
import type { Watchers } from "./api";
import { Name, of } from "./format";
import { Empty, Note, Skeleton, useGet } from "./parts";
import { to } from "./router";
import { Table } from "./table";

export function WatchersTab({ path }: { path: string }) {
  const w = useGet<Watchers>("watchers", { path }, 5000);
  if (w.trouble)
    return (
      <Note tone="bad" icon={TriangleAlert}>
        {w.trouble.message}
      </Note>
    );
  if (!w.data) return <Skeleton rows={3} />;
  if (w.data.total === 0) {
    return (
      <Empty icon={Eye} title="No watchers">
        No client of this server watches this znode. Other servers know their own.
      </Empty>
    );
  }
  return (
    <>
      <p class="small faint">{of(w.data.total, "client")} of this server; other servers know their own.</p>
      <div class="card">
        <Table
          label="Watchers"
          rows={w.data.watchers}
          keyOf={(r) => r.session + r.address}
          columns={[
            {
              name: "Client",
              by: (r) => r.address,
              cell: (r) => (
                <a href={to("sessions", { find: r.address })}>
                  <code>{r.address}</code>
                </a>
              ),
            },
            { name: "Session", cell: (r) => <code>{r.session}</code> },
            {
              name: "Hears of",
              cell: (r) =>
                [r.data && "data", r.child && "children", r.below && "everything below"].filter(Boolean).join(", "),
            },
            { name: "By a watch of", wrap: true, cell: (r) => <Name of={r.below || path} /> },
          ]}
        />
      </div>
    </>
  );
}
