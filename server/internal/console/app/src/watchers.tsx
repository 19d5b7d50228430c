// The clients that an event of a znode would tell.
import { Eye, TriangleAlert } from "lucide";
import type { Watchers } from "./api";
import { count, Name, of } from "./format";
import { Empty, Note, SessionLink, Silent, Skeleton, useGet } from "./parts";
import { to } from "./router";
import { serverColumn, Table } from "./table";

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
      <>
        <Silent of={w.data.servers} />
        <Empty icon={Eye} title={w.data.servers.some((s) => s.trouble) ? "No watchers known" : "No watchers"}>
          No client watches this znode.
        </Empty>
      </>
    );
  }
  return (
    <>
      <p class="small faint">
        {of(w.data.total, "client")} of the ensemble
        {w.data.total > w.data.watchers.length && `, of which ${count(w.data.watchers.length)} are listed`}.
      </p>
      <Silent of={w.data.servers} />
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
            { name: "Session", cell: (r) => <SessionLink label={r.session} /> },
            ...(w.data.servers.length > 1 ? [serverColumn<Watchers["watchers"][0]>()] : []),
            {
              name: "Notified of",
              cell: (r) =>
                [r.data && "data", r.child && "children", r.below && "everything below"].filter(Boolean).join(", "),
            },
            { name: "Watch on", wrap: true, cell: (r) => <Name of={r.below || path} /> },
          ]}
        />
      </div>
    </>
  );
}
