// The history of a znode, from the files of the server.
import { useSignal } from "@preact/signals";
import { FileDiff, History as HistoryIcon, LogIn, RotateCcw, TriangleAlert } from "lucide";
import { get, identity, type Former, type History, type Version, type Znode } from "./api";
import { editable } from "./data";
import { keepDraft } from "./drafts";
import { DiffView } from "./editor";
import { mayWrite } from "./facts";
import { ago, baseOf, bytes, capital, local, plain, Time } from "./format";
import { Button, Dialog, Empty, LogInButton, Field, Note, Skeleton, Tag, tones, useGet, useTry } from "./parts";
import { go } from "./router";

export function HistoryTab({ path }: { path: string }) {
  const who = identity.value?.user;
  const h = useGet<History>(who ? "history" : null, { path });
  const shown = useSignal<Version | null>(null);
  const close = () => (shown.value = null);
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
                  <Time at={v.at} /> <span class="small faint">{ago(v.at)}</span>
                </th>
                <td>
                  <Tag tone={tones[v.kind] ?? ""}>{capital(v.kind)}</Tag>
                </td>
                <td class="num">{v.version < 0 ? "–" : v.version}</td>
                <td class="num">{bytes(v.size)}</td>
                <td>
                  <code>{v.zxid}</code>
                </td>
                <td class="num">
                  {v.hasData && (
                    <Button quiet small icon={FileDiff} onClick={() => (shown.value = v)}>
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
        <Compared path={path} all={h.data.versions.filter((v) => v.hasData)} v={shown.value} close={close} />
      )}
    </>
  );
}

/** Two versions side by side; the later one can be brought back. */
function Compared({ path, all, v, close }: { path: string; all: Version[]; v: Version; close: () => void }) {
  const later = useSignal(v),
    before = useSignal<Version | null>(all[all.indexOf(v) + 1] ?? null);
  const [busy, trouble, attempt] = useTry();
  const now = useGet<Former>("version", { path, zxid: later.value.zxid });
  const then = useGet<Former>(before.value ? "version" : null, { path, zxid: before.value?.zxid });
  const nameOf = (o: Version) =>
    `${o.version < 0 ? capital(o.kind) : "Version " + o.version}, ${local(o.at)}, txn ${o.zxid}`;
  const choose = (label: string, of: typeof before | typeof later, none: boolean) => (
    <div class="grow">
      <Field label={label}>
        {(id) => (
          <select
            id={id}
            class="input"
            value={of.value?.zxid ?? ""}
            onChange={(e) =>
              ((of as typeof before).value = all.find((o) => o.zxid === e.currentTarget.value) ?? null)
            }
          >
            {none && <option value="">Nothing</option>}
            {all.map((o) => (
              <option key={o.zxid} value={o.zxid}>
                {nameOf(o)}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  );
  const restore = () =>
    attempt(async () => {
      const z = await get<Znode>("znode", { path });
      const mine = editable(z),
        f = now.data!;
      if (mine.encoding !== f.encoding) throw new Error("It can be set by the API only: one of the two is no text");
      keepDraft(path, { text: f.data ?? "", encoding: f.encoding, version: z.stat.version, base: mine.text });
      close();
      go("tree", { path });
    });
  return (
    <Dialog
      wide
      title={`History of ${plain(baseOf(path))}`}
      close={close}
      end={
        <>
          <Button onClick={close}>Close</Button>
          {mayWrite() && (
            <Button primary icon={RotateCcw} disabled={busy || !now.data} onClick={restore}>
              Edit from this version
            </Button>
          )}
        </>
      }
    >
      <div class="row wrap">
        {choose("From", before, true)}
        {choose("To", later, false)}
      </div>
      {(now.trouble ?? then.trouble ?? trouble) && (
        <Note tone="bad" icon={TriangleAlert}>
          {(now.trouble ?? then.trouble)?.message ?? trouble}
        </Note>
      )}
      {now.data && (!before.value || then.data) && (
        <DiffView
          key={later.value.zxid + before.value?.zxid}
          before={then.data?.data ?? ""}
          after={now.data.data ?? ""}
          format="text"
          label={
            before.value ? `From txn ${before.value.zxid} to ${later.value.zxid}` : `Data of txn ${later.value.zxid}`
          }
        />
      )}
    </Dialog>
  );
}
