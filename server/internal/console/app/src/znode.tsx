// One znode: its data, state, permissions, history, quota; and what changes it.
import { useSignal, type Signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import {
  ArrowLeft,
  Check,
  Copy,
  Download,
  Ellipsis,
  FilePlus,
  FileX,
  Lock,
  LogIn,
  Pencil,
  Plus,
  Trash2,
  TriangleAlert,
  Unplug,
} from "lucide";
import { demandLogin, identity, send, Trouble, wanted, type ACL, type Laid, type Quota, type Znode } from "./api";
import { EditACL, perms } from "./acl";
import { ActivityTab } from "./activity";
import { AsCommands, call, shell } from "./commands";
import { detect, editable } from "./data";
import { readDraft } from "./drafts";
import { Edit } from "./edit";
import { mayWrite } from "./facts";
import { baseOf, bytes, count, duration, joined, Name, parentOf, plain, Time, TimeWithUTC } from "./format";
import { Painted } from "./highlight";
import { HistoryTab } from "./history";
import {
  Button,
  copy,
  Dialog,
  Empty,
  Field,
  Icon,
  Note,
  say,
  Segments,
  SessionLink,
  Skeleton,
  Tag,
  useGet,
  useTry,
  type Resource,
} from "./parts";
import { amend, go, param, to } from "./router";
import { Table } from "./table";
import { refreshTree } from "./tree";
import { WatchersTab } from "./watchers";
import { WorkDialog, type Kind } from "./works";

const tabs = [
  ["data", "Data"],
  ["stat", "Stat"],
  ["acl", "ACL"],
  ["history", "History"],
  ["quota", "Quota"],
  ["watchers", "Watchers"],
  ["activity", "Activity"],
] as const;

function Crumbs({ path }: { path: string }) {
  const names = path === "/" ? [] : path.slice(1).split("/");
  return (
    <h1 aria-label={plain(path)}>
      {names.length === 0 ? (
        <bdi>/</bdi>
      ) : (
        <a href={to("tree", { path: "/" })} aria-label="Root">
          /
        </a>
      )}
      {names.map((n, i) => {
        const p = "/" + names.slice(0, i + 1).join("/");
        return i === names.length - 1 ? (
          <Name key={p} of={n} />
        ) : (
          <span key={p}>
            <a href={to("tree", { path: p })}>
              <Name of={n} />
            </a>
            <span class="s">/</span>
          </span>
        );
      })}
    </h1>
  );
}

export function ZnodeView({ path }: { path: string }) {
  const tab = param("tab", "data");
  const z = useGet<Znode>("znode", { path }, 5000),
    as = useSignal(""),
    laid = useGet<Laid>(tab === "data" ? "laid" : null, { path, as: as.value || undefined }),
    turn = useSignal(0);
  const gone = z.trouble !== null && [403, 404].includes(z.trouble.status),
    data = gone ? null : z.data;
  const dialog = useSignal<"" | "create" | "delete" | Kind>("");
  useLayoutEffect(() => {
    if (data && laid.data && laid.data.mzxid !== data.stat.mzxid) laid.refresh();
  }, [data?.stat.mzxid, laid.data?.mzxid]);
  const again = () => {
    turn.value++;
    z.refresh();
    refreshTree(path);
  };
  const s = data?.stat;
  return (
    <div class="right" id="znode">
      <div class="zhead">
        <div class="row wrap">
          <span class="only-phone">
            <Button quiet icon={ArrowLeft} label="Back to the tree" onClick={() => go("tree")} />
          </span>
          <div class="where">
            <Crumbs path={path} />
          </div>
          <span class="not-phone">
            <Button quiet small icon={Copy} label="Copy the path" onClick={() => copy(path, "Path")} />
          </span>
          <span class="row actions">
            {mayWrite() &&
              (identity.value?.user ? (
                <>
                  <Button icon={Plus} label="New child" onClick={() => (dialog.value = "create")}>
                    <span class="not-phone">New child</span>
                  </Button>
                  {path !== "/" && data && (
                    <Button danger icon={Trash2} label="Delete" onClick={() => (dialog.value = "delete")} />
                  )}
                </>
              ) : (
                <Button icon={LogIn} onClick={() => (wanted.value = { why: "", then: () => {} })}>
                  Log in to change
                </Button>
              ))}
            <More path={path} may={mayWrite() && !!identity.value?.user} pick={(k) => (dialog.value = k)} />
          </span>
        </div>
        {s && (
          <div class="facts">
            <span>
              Version <b id="version">{s.version}</b>
            </span>
            <span>{bytes(s.dataLength)}</span>
            <span>
              {s.numChildren === 0
                ? "No children"
                : s.numChildren === 1
                  ? "1 child"
                  : count(s.numChildren) + " children"}
            </span>
            <span>
              Modified <Time at={s.modified} relative />
            </span>
            {s.owner && (
              <a href={to("session", { label: s.owner })}>
                <Tag tone="warn">Ephemeral</Tag>
              </a>
            )}
            {s.kind === "container" && (
              <Tag title="The server deletes it some time after its last child">Container</Tag>
            )}
            {s.kind === "ttl" && (
              <Tag title="The server deletes it after this time without a change and without children">
                TTL {duration(s.ttlMs)}
              </Tag>
            )}
          </div>
        )}
      </div>
      <nav class="tabs" aria-label="Parts of the znode" style={{ marginTop: "12px" }}>
        {tabs.map(([id, text]) => (
          <a
            key={id}
            href={to("tree", { path, tab: id === "data" ? "" : id })}
            aria-current={tab === id ? "page" : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      <div class="zbody">
        {z.trouble && <Failed trouble={z.trouble} path={path} />}
        {!z.data && !z.trouble && <Skeleton rows={6} />}
        {data && tab === "data" && <Data z={data} laid={laid} as={as} again={again} />}
        {data && tab === "stat" && <StatTab z={data} />}
        {data && tab === "acl" && <ACLTab z={data} again={again} />}
        {tab === "history" && <HistoryTab path={path} mzxid={s?.mzxid} />}
        {data && tab === "watchers" && <WatchersTab path={path} />}
        {data && tab === "activity" && <ActivityTab path={path} key={s?.czxid} />}
        {data && tab === "quota" && <QuotaTab path={path} key={turn.value} />}
      </div>
      {dialog.value === "create" && <Create parent={path} close={() => (dialog.value = "")} />}
      {dialog.value === "delete" &&
        data &&
        (data.stat.numChildren === 0 ? (
          <Delete z={data} close={() => (dialog.value = "")} />
        ) : (
          <WorkDialog kind="delete" path={path} close={() => (dialog.value = "")} />
        ))}
      {(["copy", "move", "import", "quota"] as const).map(
        (k) =>
          dialog.value === k && (
            <WorkDialog
              key={k}
              kind={k}
              path={path}
              close={() => {
                dialog.value = "";
                again();
              }}
            />
          ),
      )}
    </div>
  );
}

function Failed({ trouble, path }: { trouble: Trouble; path: string }) {
  const lost = readDraft(path);
  if (lost && (trouble.status === 404 || trouble.status === 403)) {
    return (
      <>
        <Note tone="warn" icon={TriangleAlert}>
          {trouble.message}. What you typed and did not save is still here.
        </Note>
        <pre class="code card" role="region" tabIndex={0} aria-label="What you typed">
          {lost.text}
        </pre>
        <div class="row">
          <Button icon={Copy} onClick={() => copy(lost.text, "Text")}>
            Copy
          </Button>
        </div>
      </>
    );
  }
  if (trouble.status === 404) {
    return (
      <Empty icon={FileX} title="No such znode">
        It may have been deleted. <a href={to("tree", { path, tab: "history" })}>Look at its history</a> or{" "}
        <a href={to("tree", { path: parentOf(path) })}>open its parent</a>.
      </Empty>
    );
  }
  if (trouble.status === 403)
    return (
      <Empty icon={Lock} title="No read permission">
        {trouble.message}. Log in as a user that the ACL names.
      </Empty>
    );
  return (
    <Note tone="bad" icon={Unplug}>
      {trouble.message}
    </Note>
  );
}

function Data({ z, laid, as, again }: { z: Znode; laid: Resource<Laid>; as: Signal<string>; again: () => void }) {
  const editing = useSignal(readDraft(z.path) !== null);
  const found = detect(z);
  const mayEdit = mayWrite() && z.whole && z.stat.dataLength <= 256 * 1024;
  // What is typed stays even if the znode has become too large, or the server read-only, meanwhile.
  if (editing.value && (mayEdit || readDraft(z.path))) {
    return (
      <Edit
        z={z}
        format={editable(z).encoding === "utf-8" ? found : "text"}
        again={again}
        end={() => (editing.value = false)}
      />
    );
  }
  const edit = async () => {
    if (!identity.value?.user) {
      wanted.value = { why: "Changes need a login.", then: (ok) => ok && (editing.value = true) };
      return;
    }
    editing.value = true;
  };
  const l = laid.data,
    now = l?.packed ? "packed" : (l?.format ?? found);
  return (
    <>
      <div class="databar">
        <Segments
          label="Format"
          menu
          value={now}
          pick={(f) => (as.value = f)}
          of={[
            ["json", "JSON"],
            ["yaml", "YAML"],
            ["xml", "XML"],
            ["text", "Text"],
            ["hex", "Bytes"],
            ...(l?.packing ? [["packed", "Packed"] as [string, string]] : []),
          ]}
        />
        <span class="grow" />
        {z.encoding === "utf-8" && (
          <Button quiet icon={Copy} label="Copy" onClick={() => copy(z.data ?? "", "Data")}>
            <span class="not-phone">Copy</span>
          </Button>
        )}
        <a class="btn quiet" aria-label="Download" href={"data?path=" + encodeURIComponent(z.path)}>
          <Icon of={Download} />
          <span class="not-phone">Download</span>
        </a>
        {mayEdit && (
          <Button primary icon={Pencil} onClick={edit}>
            Edit
          </Button>
        )}
      </div>
      {laid.trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {laid.trouble.message}
        </Note>
      )}
      {l?.packing && (
        <p class="small dim">
          Compressed by {l.packing}: {bytes(z.stat.dataLength)}, {l.cut && !l.packed ? "more than " : ""}
          {bytes(l.size)} when it is unpacked.
        </p>
      )}
      {l?.trouble && <p class="small dim">{l.trouble}</p>}
      {z.data === null || z.data === "" ? (
        <div class="card">
          <Empty icon={FilePlus} title={z.data === null ? "No data (null)" : "No data"} />
        </div>
      ) : (
        <div class="card">
          {l ? (
            <pre
              class={"code" + (l.format === "hex" ? " hex" : "")}
              id="text"
              role="region"
              tabIndex={0}
              aria-label="Data"
            >
              <Painted text={l.text} format={l.format} />
            </pre>
          ) : (
            <div class="body">
              <Skeleton rows={4} />
            </div>
          )}
        </div>
      )}
      {l?.cut && !l.packed && (
        <Note tone="warn" icon={TriangleAlert}>
          This is the beginning of the data. Download it to see all of it.
        </Note>
      )}
    </>
  );
}

function StatTab({ z }: { z: Znode }) {
  const s = z.stat;
  const zxid = (v: string) => (
    <span class="row">
      <code>{v}</code>
      <Button quiet small icon={Copy} label={"Copy " + v} onClick={() => copy(v, "Zxid")} />
    </span>
  );
  return (
    <div class="card">
      <div class="body">
        <dl class="kv">
          <dt>Created</dt>
          <dd>
            <TimeWithUTC at={s.created} />
          </dd>
          <dt>Created by txn</dt>
          <dd>{zxid(s.czxid)}</dd>
          <dt>Data modified</dt>
          <dd>
            <TimeWithUTC at={s.modified} />
          </dd>
          <dt>Modified by txn</dt>
          <dd>{zxid(s.mzxid)}</dd>
          <dt>Children changed by txn</dt>
          <dd>{zxid(s.pzxid)}</dd>
          <dt>Data version</dt>
          <dd>{s.version}</dd>
          <dt>Children version</dt>
          <dd>{s.cversion}</dd>
          <dt>ACL version</dt>
          <dd>{s.aversion}</dd>
          <dt>Data length</dt>
          <dd>
            {bytes(s.dataLength)} <span class="faint">({count(s.dataLength)} bytes)</span>
          </dd>
          <dt>Children</dt>
          <dd>{count(s.numChildren)}</dd>
          <dt>Ephemeral owner</dt>
          <dd>{s.owner ? <SessionLink label={s.owner} /> : "None"}</dd>
        </dl>
      </div>
    </div>
  );
}

/** What is done seldom with a znode. */
function More({ path, may, pick }: { path: string; may: boolean; pick: (k: Kind) => void }) {
  const item = (text: string, k: Kind) => (
    <button type="button" popovertarget="more" popovertargetaction="hide" onClick={() => pick(k)}>
      {text}
    </button>
  );
  return (
    <div class="menu">
      <button type="button" class="btn icon-only" popovertarget="more" aria-label="More" title="More">
        <Icon of={Ellipsis} />
      </button>
      <div id="more" popover="auto" class="items" aria-label="More">
        {may && (
          <>
            {item("Copy…", "copy")}
            {path !== "/" && item("Move…", "move")}
            {item("Import below…", "import")}
            {item("Set quota…", "quota")}
          </>
        )}
        <a href={"export?path=" + encodeURIComponent(path)} download>
          Export
        </a>
        <button
          type="button"
          class="only-phone"
          popovertarget="more"
          popovertargetaction="hide"
          onClick={() => copy(path, "Path")}
        >
          Copy the path
        </button>
        <button
          type="button"
          popovertarget="more"
          popovertargetaction="hide"
          onClick={() => copy(shell("get", "-s", path), "Command")}
        >
          Copy as a shell command
        </button>
        <button
          type="button"
          popovertarget="more"
          popovertargetaction="hide"
          onClick={() => copy(call("GET", "znode", { path }), "Call of the API")}
        >
          Copy as an API call
        </button>
        <a href={to("live", { path })}>Live changes below</a>
        <a href={to("search", { under: path })}>Search below</a>
        <a href={to("recipes", { under: path })}>Recipes below</a>
        <a href={to("sizes", { path })}>Sizes below</a>
        {identity.value?.user && <a href={"links?path=" + encodeURIComponent(path)}>Share…</a>}
      </div>
    </div>
  );
}

function ACLTab({ z, again }: { z: Znode; again: () => void }) {
  const editing = useSignal(false);
  return (
    <div class="card">
      <header>
        <h2>Permissions</h2>
        {mayWrite() && (
          <Button
            icon={Pencil}
            onClick={async () => {
              editing.value = !!identity.value?.user || (await demandLogin("Changes need a login."));
            }}
          >
            Edit permissions
          </Button>
        )}
      </header>
      {editing.value && (
        <EditACL
          z={z}
          close={() => (editing.value = false)}
          done={() => {
            editing.value = false;
            again();
          }}
        />
      )}
      <Table
        label="Permissions"
        rows={z.acl}
        keyOf={(e) => [e.scheme, e.id, e.perms].join()}
        columns={[
          { name: "Scheme", cell: (e) => e.scheme },
          { name: "Identity", wrap: true, plain: true, cell: (e) => <Name of={e.id || "–"} /> },
          ...perms.map(([letter, name]) => ({
            name,
            cell: (e: ACL) =>
              e.perms.includes(letter) ? (
                <Tag tone="good" icon={Check}>
                  Yes
                </Tag>
              ) : (
                <span class="faint">No</span>
              ),
          })),
        ]}
      />
    </div>
  );
}

function QuotaTab({ path }: { path: string }) {
  const q = useGet<Quota>("quota", { path });
  if (q.trouble)
    return (
      <Note tone="bad" icon={TriangleAlert}>
        {q.trouble.message}
      </Note>
    );
  if (!q.data) return <Skeleton rows={3} />;
  const l = q.data.limits;
  if ([l.count, l.bytes, l.countHard, l.bytesHard].every((n) => n < 0)) {
    return (
      <Empty icon={Lock} title="No quota">
        Nothing limits the znodes at and below this path.
      </Empty>
    );
  }
  const line = (name: string, used: number, soft: number, hard: number, write: (n: number) => string) => {
    const limit = hard >= 0 ? hard : soft;
    return (
      <div class="stack" style={{ gap: "4px" }}>
        <div class="row">
          <b class="grow">{name}</b>
          <span>
            {write(used)}
            {limit >= 0 && ` of ${write(limit)}`}
          </span>
        </div>
        {limit >= 0 && (
          <div class="meter">
            <i style={{ width: Math.min(100, (100 * used) / Math.max(1, limit)) + "%" }} />
          </div>
        )}
        <span class="small faint">
          {soft >= 0 ? `More than ${write(soft)} is logged. ` : ""}
          {hard >= 0
            ? `More than ${write(hard)} is refused${q.data!.enforced ? "." : ", once enforceQuota is set."}`
            : ""}
        </span>
      </div>
    );
  };
  return (
    <div class="card">
      <div class="body stack">
        {line("Znodes", q.data.usedCount, l.count, l.countHard, count)}
        {line("Bytes", q.data.usedBytes, l.bytes, l.bytesHard, bytes)}
      </div>
    </div>
  );
}

function Create({ parent, close }: { parent: string; close: () => void }) {
  const name = useSignal(""),
    data = useSignal(""),
    kind = useSignal("persistent"),
    ttl = useSignal("60000");
  const [busy, trouble, attempt] = useTry();
  const body = {
    path: joined(parent, name.value),
    data: data.value,
    encoding: "utf-8",
    acl: null,
    sequential: kind.value === "sequential",
    container: kind.value === "container",
    ttl: kind.value === "ttl" ? Number(ttl.value) : 0,
  };
  const flags = { persistent: [], sequential: ["-s"], container: ["-c"], ttl: ["-t", ttl.value] }[kind.value] ?? [];
  const submit = () =>
    attempt(async () => {
      const done = await send<{ path: string }>("POST", "znode", body);
      say("Created " + plain(baseOf(done.path)));
      close();
      refreshTree(done.path);
      go("tree", { path: done.path });
    });
  return (
    <Dialog
      title="New child"
      close={close}
      submit={submit}
      end={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button primary type="submit" disabled={busy || !name.value}>
            {busy ? "Creating…" : "Create"}
          </Button>
        </>
      }
    >
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
      <p class="dim">
        Below <Name of={parent} />
      </p>
      <Field label="Name">
        {(id) => (
          <input
            id={id}
            class="input mono"
            value={name.value}
            autofocus
            spellcheck={false}
            autocapitalize="none"
            onInput={(e) => (name.value = e.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Kind">
        {(id) => (
          <select id={id} class="input" value={kind.value} onChange={(e) => (kind.value = e.currentTarget.value)}>
            <option value="persistent">Persistent</option>
            <option value="sequential">Persistent, sequential</option>
            <option value="container">Container</option>
            <option value="ttl">With a time to live</option>
          </select>
        )}
      </Field>
      {kind.value === "ttl" && (
        <Field label="Time to live, ms">
          {(id) => (
            <input
              id={id}
              class="input"
              type="number"
              min="1"
              required
              value={ttl.value}
              onInput={(e) => (ttl.value = e.currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field label="Data">
        {(id) => (
          <textarea
            id={id}
            class="input mono"
            rows={5}
            spellcheck={false}
            value={data.value}
            onInput={(e) => (data.value = e.currentTarget.value)}
          />
        )}
      </Field>
      <AsCommands
        of={[
          ["the command", shell("create", ...flags, body.path, ...(data.value ? [data.value] : []))],
          ["the call of the API", call("POST", "znode", {}, body)],
        ]}
      />
    </Dialog>
  );
}

function Delete({ z: now, close }: { z: Znode; close: () => void }) {
  const { value: z } = useSignal(now); // as the visitor has seen it when the dialog was opened
  const [busy, trouble, attempt] = useTry();
  const submit = () =>
    attempt(async () => {
      await send("DELETE", "znode", undefined, { path: z.path, version: z.stat.version });
      say("Deleted " + plain(baseOf(z.path)));
      close();
      refreshTree(parentOf(z.path));
      amend("tree", { path: parentOf(z.path) });
    });
  return (
    <Dialog
      title="Delete this znode?"
      close={close}
      submit={submit}
      end={
        <>
          <Button onClick={close} autofocus>
            Cancel
          </Button>
          <Button danger type="submit" disabled={busy}>
            {busy ? "Deleting…" : "Delete"}
          </Button>
        </>
      }
    >
      {trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {trouble}
        </Note>
      )}
      <p>
        <Name of={z.path} />, version {z.stat.version}, {bytes(z.stat.dataLength)}.
      </p>
      <AsCommands
        of={[
          ["the command", shell("delete", "-v", String(z.stat.version), z.path)],
          ["the call of the API", call("DELETE", "znode", { path: z.path, version: String(z.stat.version) })],
        ]}
      />
    </Dialog>
  );
}
