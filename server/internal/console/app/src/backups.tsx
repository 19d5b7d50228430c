// From what the state can be brought back: backups in folders that a server can read, and the snapshots on its disk.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Archive, CircleCheck, FileCheck, HardDrive, RotateCcw, TriangleAlert } from "lucide";
import { get, identity, type BackupFolder, type Backups as Page, type Verification } from "./api";
import { Behind } from "./audit";
import { Restore } from "./restore";
import { ago, bytes, capital, count, of, plain, Time } from "./format";
import { Button, Empty, Note, Tag, useTry } from "./parts";
import { to } from "./router";
import { Table } from "./table";
import { chosen, idOf, named, passedTo, ServerPick, useEach, type Which } from "./which";

/** Reads every file of a backup at a server, and shows how far that is. */
function useVerify(folder: string, at: Which) {
  const state = useSignal<Verification | null>(null);
  const [busy, trouble, attempt] = useTry();
  const stopped = useSignal(false);
  useEffect(() => () => void (stopped.value = true), []);
  const begin = () =>
    attempt(async () => {
      for (let first = true; first || (state.value?.running && !stopped.value); first = false) {
        if (!first) await new Promise((r) => setTimeout(r, 500));
        const query = { folder, server: passedTo(at), begin: first ? 1 : undefined };
        state.value = await get<Verification>("verification", query);
      }
    });
  return { state: state.value, busy, trouble, begin };
}

function Verified({ of: v }: { of: Verification }) {
  if (v.running)
    return (
      <div class="row verifying" role="status">
        <span class="meter grow" aria-hidden="true">
          <i style={{ width: (v.bytes ? Math.round((100 * v.read) / v.bytes) : 0) + "%" }} />
        </span>
        <span class="small dim nowrap">
          {bytes(v.read)} of {v.bytes ? bytes(v.bytes) : "–"} read
        </span>
      </div>
    );
  return v.trouble ? (
    <Note tone="bad" icon={TriangleAlert}>
      Not verified: {plain(v.trouble)}
    </Note>
  ) : (
    <Note tone="good" icon={CircleCheck}>
      Verified <Time at={v.ended} />: all {bytes(v.bytes)} were read, and match their checksums.
    </Note>
  );
}

function One({ b, at, restore }: { b: BackupFolder; at: Which; restore: () => void }) {
  const check = useVerify(b.folder, at);
  const fact = (name: string, value: any) => (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
  return (
    <section class="card server" aria-label={plain(b.folder)}>
      <div class="name">
        <b class="cut">
          <code>{plain(b.folder)}</code>
        </b>
        <Tag tone={b.trouble ? "bad" : "good"} icon={b.trouble ? TriangleAlert : CircleCheck}>
          {b.trouble ? "Not complete" : "Complete"}
        </Tag>
      </div>
      {b.trouble && (
        <Note tone="bad" icon={TriangleAlert}>
          {capital(plain(b.trouble))}
        </Note>
      )}
      {b.taken > 0 && (
        <>
          <dl>
            {fact("Age", <span title={new Date(b.taken).toLocaleString()}>{ago(b.taken)}</span>)}
            {fact("Size", bytes(b.bytes))}
            {fact("Encrypted", b.encrypted ? "Yes" : "No")}
            {fact("Last txn", <code>{b.last || "–"}</code>)}
            {fact("Txns in logs", count(b.txns))}
            {fact("Snapshots", count(b.snapshots))}
          </dl>
          <div class="at">
            <span>
              From <code>{plain(b.source)}</code>
            </span>
            <span>
              Reaches to <Time at={b.lastAt || b.taken} />
            </span>
            {!b.trouble && (
              <span class="row">
                <Button small icon={FileCheck} disabled={check.busy} onClick={check.begin}>
                  {check.busy ? "Verifying…" : "Verify"}
                </Button>
                <Button small icon={RotateCcw} onClick={restore}>
                  Restore…
                </Button>
              </span>
            )}
          </div>
          {check.trouble && (
            <Note tone="bad" icon={TriangleAlert}>
              {check.trouble}
            </Note>
          )}
          {check.state && !check.trouble && <Verified of={check.state} />}
        </>
      )}
    </section>
  );
}

export function Backups() {
  const which = chosen("own");
  const [told] = useEach<Page>(identity.value?.user ? "backups" : null, which, () => ({}), 10_000);
  const b = told[0],
    restored = useSignal<BackupFolder | null>(null);
  return (
    <div class="page" id="backups">
      <header>
        <h1>Backups</h1>
        <span class="grow" />
        <ServerPick page="backups" usual="own" one />
      </header>
      <Behind of={b} what="The list of backups" />
      {b.data && (
        <>
          {b.data.folders.length === 0 ? (
            <div class="card">
              <Empty icon={Archive} title="No backups are known">
                <code>warren backup create FOLDER</code> makes one. If a server can read its folder,{" "}
                <code>warren.console.backups=FOLDER</code> in its zoo.cfg shows here how old and how complete it is.
              </Empty>
            </div>
          ) : (
            <>
              <p class="dim">
                Complete means that the manifest is whole and every file is there in its size. Verify reads all of
                them and compares their checksums; <code>warren backup verify FOLDER</code> also rebuilds the tree. A
                restore brings any moment back.
              </p>
              <div class="cards">
                {b.data.folders.map((f) => (
                  <One key={f.folder + idOf(which[0])} b={f} at={which[0]} restore={() => (restored.value = f)} />
                ))}
              </div>
            </>
          )}
          <section class="card" aria-labelledby="snapshots">
            <header>
              <h2 id="snapshots">Snapshots on {named(which[0])}</h2>
              <span class="small faint">{of(b.data.snapshots.length, "file")}</span>
              <a class="small" href={to("past")}>
                Time travel
              </a>
            </header>
            {b.data.snapshots.length === 0 ? (
              <Empty icon={HardDrive} title="No snapshots yet" />
            ) : (
              <Table
                label="Snapshots"
                rows={b.data.snapshots}
                keyOf={(s) => s.name}
                columns={[
                  { name: "File", cell: (s) => <code>{plain(s.name)}</code> },
                  {
                    name: "Written",
                    by: (s) => s.at,
                    cell: (s) => (
                      <>
                        <Time at={s.at} /> {s.at > 0 && <span class="small faint">{ago(s.at)}</span>}
                      </>
                    ),
                  },
                  { name: "Size", num: true, by: (s) => s.bytes, cell: (s) => bytes(s.bytes) },
                  { name: "Txn", cell: (s) => <code>{s.zxid}</code> },
                  {
                    name: "State",
                    plain: true,
                    cell: (s) =>
                      s.verified ? <Tag tone="good">Verified</Tag> : <span class="faint">Not read yet</span>,
                  },
                ]}
              />
            )}
          </section>
        </>
      )}
      {restored.value && <Restore b={restored.value} close={() => (restored.value = null)} />}
    </div>
  );
}
