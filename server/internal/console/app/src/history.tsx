// The history of a znode, from the files of the server.
import { useSignal } from "@preact/signals";
import { History as HistoryIcon, LogIn, TriangleAlert } from "lucide";
import { identity, wanted, type Former, type History, type Version } from "./api";
import { DiffView } from "./editor";
import { baseOf, bytes, plain, TimeWithUTC } from "./format";
import { Button, Dialog, Empty, Note, Skeleton, useGet } from "./parts";

export function HistoryTab({ path }: { path: string }) {
  const who = identity.value?.user;
  const h = useGet<History>(who ? "history" : null, { path });
  const shown = useSignal<Version | null>(null);
  if (!who) {
    return (
      <Empty icon={LogIn} title="History needs a login">
        <Button onClick={() => (wanted.value = { why: "", then: () => {} })}>Log in</Button>
      </Empty>
    );
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
        The files of this server hold none.
      </Empty>
    );
  return (
    <>
      <p class="small faint">
        From the log and the snapshots of this server, since txn <code>{h.data.from}</code>.
        {h.data.cut && " Older versions were not read."}
        {h.data.hidden > 0 && ` ${h.data.hidden} may not be shown to you.`}
      </p>
      <div class="card scroll-x" tabIndex={0} role="region" aria-label="Versions">
        <table class="t">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Change</th>
              <th scope="col" class="num">
                Version
              </th>
              <th scope="col" class="num">
                Size
              </th>
              <th scope="col">Txn</th>
              <th scope="col">
                <span class="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {h.data.versions.map((v) => (
              <tr key={v.zxid + v.kind}>
                <th scope="row" class="nowrap">
                  <TimeWithUTC at={v.at} />
                </th>
                <td>{v.kind}</td>
                <td class="num">{v.version < 0 ? "–" : v.version}</td>
                <td class="num">{bytes(v.size)}</td>
                <td>
                  <code>{v.zxid}</code>
                </td>
                <td class="num">
                  {v.hasData && (
                    <Button small onClick={() => (shown.value = v)}>
                      Compare
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.value && (
        <FormerDialog path={path} all={h.data.versions} v={shown.value} close={() => (shown.value = null)} />
      )}
    </>
  );
}

function FormerDialog({ path, all, v, close }: { path: string; all: Version[]; v: Version; close: () => void }) {
  const before = all.slice(all.indexOf(v) + 1).find((o) => o.hasData);
  const now = useGet<Former>("version", { path, zxid: v.zxid });
  const then = useGet<Former>(before ? "version" : null, { path, zxid: before?.zxid });
  const text = (f: Former | null) => f?.data ?? "";
  return (
    <Dialog
      wide
      title={`Version ${v.version < 0 ? "" : v.version} of ${plain(baseOf(path))}`}
      close={close}
      end={<Button onClick={close}>Close</Button>}
    >
      {(now.trouble ?? then.trouble) && (
        <Note tone="bad" icon={TriangleAlert}>
          {(now.trouble ?? then.trouble)!.message}
        </Note>
      )}
      {now.data && (!before || then.data) && (
        <DiffView
          before={text(then.data)}
          after={text(now.data)}
          format="text"
          label={before ? `From txn ${before.zxid} to ${v.zxid}` : `Data of txn ${v.zxid}`}
        />
      )}
    </Dialog>
  );
}
