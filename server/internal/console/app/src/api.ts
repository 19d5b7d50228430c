// The API of the server, as the application sees it. Every address is relative to the page: a proxy may put any
// prefix before it.
import { computed, signal } from "@preact/signals";

export interface Problem {
  severity: string;
  check: string;
  server: number | null;
  text: string;
  remedy: string;
  since: number;
}
export interface Member {
  id: number;
  role: string;
  state: string;
  self: boolean;
  addresses: string[];
  clientAddress: string;
  zxid: string;
  lag: number | null;
}
export interface Ensemble {
  name: string;
  serverId: number;
  state: string;
  serving: boolean;
  program: string;
  version: string;
  uptimeMs: number;
  leader: number | null;
  zxid: string;
  epoch: number;
  znodes: number | null;
  ephemerals: number | null;
  dataBytes: number | null;
  watches: number | null;
  sessions: number | null;
  treeAt: number | null;
  connections: number;
  refused: { reason: string; count: number }[];
  outstanding: number;
  latency: { min: number; mean: number; max: number };
  members: Member[];
  problems: Problem[];
  writes: boolean;
}
export interface ServerState {
  id: number;
  trouble: string;
  heardAt: number | null;
  silentSince: number | null;
  roundTripMs: number | null;
  state: string;
  lastState: string;
  program: string;
  version: string;
  zxid: string;
  connections: number | null;
  outstanding: number | null;
  meanMs: number | null;
  uptimeMs: number | null;
  diskFree: number | null;
  draining: boolean;
  admin: string;
  /** Why no request can be passed on to it; empty if that can be done. */
  unasked: string;
}
export interface Servers {
  servers: ServerState[];
  weighted: boolean;
}
export interface Trend {
  name: string;
  unit: string;
  values: (number | null)[];
}
export interface Happened {
  at: number;
  kind: string;
  text: string;
}
export interface Trends {
  everyMs: number;
  times: number[];
  series: Trend[];
  events: Happened[];
}
/** Empty where it is not known, as in the past. */
export type Kind = "" | "persistent" | "ephemeral" | "container" | "ttl";
export interface Stat {
  czxid: string;
  mzxid: string;
  pzxid: string;
  created: number;
  modified: number;
  version: number;
  cversion: number;
  aversion: number;
  owner: string;
  dataLength: number;
  numChildren: number;
  kind: Kind;
  ttlMs: number;
}
export interface ACL {
  scheme: string;
  id: string;
  perms: string;
}
export interface Znode {
  path: string;
  stat: Stat;
  acl: ACL[];
  encoding: string;
  data: string | null;
  whole: boolean;
}
export interface Child {
  name: string;
  readable: boolean;
  children: number;
  bytes: number;
  modified: number;
  version: number;
  owner: string;
  kind: Kind;
}
export interface Children {
  path: string;
  total: number;
  order: string;
  children: Child[];
  after: string;
}
export interface Found {
  paths: string[];
  visited: number;
  after: string;
  missed: boolean;
}
/** A session. What only the server knows to which the client is connected is null if no server has told it. */
export interface Session {
  label: string;
  state: "connected" | "disconnected" | "unknown";
  server: number | null;
  timeoutMs: number;
  ephemerals: number;
  paths: string[];
  address: string;
  connected: number | null;
  secure: boolean | null;
  received: number | null;
  sent: number | null;
  outstanding: number | null;
  lastOp: string;
  meanMs: number | null;
  maxMs: number | null;
  watches: number | null;
}
export interface Sessions {
  total: number;
  found: number;
  sessions: Session[];
  after: number;
  servers: { id: number; sessions: number | null; trouble: string }[];
}
/** What one session has to do with a recipe: of the members those of the session, and those that hold it. */
export interface Part {
  recipe: Recipe;
  waiting: number;
  before: number;
}
/** For how long a znode was the first of a line; began and ended are 0 if that is not known, or lasts. */
export interface Term {
  znode: string;
  session: string;
  text: string;
  began: number;
  ended: number;
}
export interface Terms {
  path: string;
  terms: Term[];
  from: string;
  cut: boolean;
}
export interface SessionDetails {
  session: Session;
  parts: Part[];
}
export interface TopEntry {
  key: string;
  requests: number;
  bytes: number;
  ms: number;
}
/** A server that was asked about its clients; trouble is empty if it has told. */
export interface ToldBy {
  id: number;
  trouble: string;
}
export interface Top {
  enabled: boolean;
  everything: boolean;
  by: string;
  windowSeconds: number;
  oneIn: number;
  total: { requests: number; bytes: number; ms: number };
  operations: TopEntry[];
  paths: TopEntry[];
  sessions: TopEntry[];
  addresses: TopEntry[];
}
export interface TopOfAll extends Top {
  servers: (ToldBy & { top: Top | null })[];
}
export type Stages = Record<"queue" | "prepare" | "forward" | "sync" | "quorum" | "apply" | "socket", number>;
export interface SlowOperation {
  server: number;
  began: number;
  operation: string;
  path: string;
  session: string;
  zxid: string;
  error: string;
  ms: number;
  slowest: string;
  stages: Stages;
  trace: string;
}
export interface Slow {
  everything: boolean;
  thresholdMs: number;
  found: number;
  operations: SlowOperation[];
  servers: ToldBy[];
}
export interface Audit {
  enabled: boolean;
  file: string;
  entries: {
    at: number;
    user: string;
    ip: string;
    session: string;
    operation: string;
    znode: string;
    result: string;
    detail: string;
  }[];
}
export interface BackupFolder {
  folder: string;
  trouble: string;
  source: string;
  snapshots: number;
  txns: number;
  bytes: number;
  last: string;
  lastAt: number;
  taken: number;
  encrypted: boolean;
  missing: number;
}
export interface Backups {
  snapshots: { name: string; zxid: string; bytes: number; at: number; verified: boolean }[];
  folders: BackupFolder[];
}
export interface Setting {
  name: string;
  value: string;
  default: string;
  origin: string;
  live: string;
}
/** How many reads and writes a znode has had at a server since somebody has begun to look. */
export interface Activity extends Trends {
  enabled: boolean;
  oneIn: number;
}
/** A check of the files of a backup. */
export interface Verification {
  folder: string;
  running: boolean;
  read: number;
  bytes: number;
  ended: number;
  trouble: string;
}
export interface Quota {
  limits: { count: number; bytes: number; countHard: number; bytesHard: number };
  usedCount: number;
  usedBytes: number;
  enforced: boolean;
}
export interface Laid {
  path: string;
  mzxid: string;
  format: string;
  formats: string[];
  packing: string;
  packed: boolean;
  text: string;
  cut: boolean;
  trouble: string;
  size: number;
}
export interface Watchers {
  path: string;
  total: number;
  watchers: { server: number; session: string; address: string; data: boolean; child: boolean; below: string }[];
  servers: ToldBy[];
}
export interface Version {
  kind: string;
  zxid: string;
  at: number;
  session: string;
  version: number;
  size: number;
  hasData: boolean;
}
export interface History {
  path: string;
  versions: Version[];
  from: string;
  cut: boolean;
  hidden: number;
}
export interface Former {
  version: Version;
  encoding: string;
  data: string | null;
}
export interface SizePart {
  path: string;
  znodes: number;
  bytes: number;
  writes: number;
  parts: SizePart[] | null;
  others: number;
  grown: number | null;
}
export interface Sizes {
  path: string;
  counted: number;
  missed: boolean;
  running: boolean;
  progress: number;
  formers: number[];
  since: number;
  whole: SizePart;
}
export interface Holder {
  path: string;
  state: string;
  session: string;
  since: number;
  text: string;
}
export interface Recipe {
  path: string;
  kind: string;
  layout: string;
  sure: boolean;
  note: string;
  total: number;
  members: Holder[];
}
export interface Recipes {
  recipes: Recipe[];
  visited: number;
  after: string;
  missed: boolean;
}
export interface Identity {
  user: string;
  super: boolean;
  token: string;
  writes: boolean;
}
/** An order that was given, or refused. */
export interface Given {
  at: number;
  order: string;
  user: string;
  address: string;
  /** The server that has passed it on; empty if it was given there. */
  via: string;
  request: string;
  refused: string;
  tookMs: number;
}
export interface Steering {
  drained: { draining: boolean; clients: number; rate: number };
  log_level: { level: string; then: string; until: number };
  snapshot: { zxid: string; bytes: number; txns: number };
  given: Given[];
}

/** A request that was not done, with what the server says about it. */
export class Trouble extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code = "",
  ) {
    super(message);
  }
}

/** Who the visitor is; null until the server has told. */
export const identity = signal<Identity | null>(null);
/** The user of the login; "" without one, and until the server has told. */
export const user = computed(() => identity.value?.user ?? "");
/** Whether the last request has reached the server. */
export const reachable = signal(true);
/** Asks for a login, and goes on with what needs it. The frame shows the dialog while this is set. */
export const wanted = signal<{ why: string; then: (ok: boolean) => void } | null>(null);

type Query = Record<string, string | number | undefined>;

function address(path: string, query: Query = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) q.set(name, String(value));
  return path + (q.size ? "?" + q : "");
}

async function ask<T>(method: string, url: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-Warren-Token"] = identity.value?.token ?? "";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(url, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  } catch (e) {
    if (signal?.aborted) throw e;
    reachable.value = false;
    throw new Trouble(0, "The server does not answer");
  }
  reachable.value = true;
  let record: any = null;
  try {
    record = await answer.json();
  } catch {
    throw new Trouble(answer.status, "The answer cannot be read");
  }
  if (!answer.ok) {
    const text = String(record?.detail ?? answer.statusText);
    throw new Trouble(answer.status, text.charAt(0).toUpperCase() + text.slice(1), record?.code ?? "");
  }
  return record as T;
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal) =>
  ask<T>("GET", address("api/v1/" + path, query), undefined, signal);

/** Saves what the API answers as a file. It asks for a login if that is what is missing. */
export async function save(path: string, name: string, why: string): Promise<void> {
  for (;;) {
    let answer: Response;
    try {
      answer = await fetch("api/v1/" + path);
    } catch {
      throw new Trouble(0, "The server does not answer");
    }
    if (answer.ok) {
      const a = document.createElement("a");
      a.href = URL.createObjectURL(await answer.blob());
      a.download = name;
      a.click();
      setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
      return;
    }
    const needsLogin = [401, 403].includes(answer.status) && !identity.value?.user;
    if (!needsLogin || !(await demandLogin(why))) {
      const text = String((await answer.json().catch(() => null))?.detail ?? answer.statusText);
      throw new Trouble(answer.status, text.charAt(0).toUpperCase() + text.slice(1));
    }
  }
}

/** Sends a change. When the login is over, it asks for one and sends the change again: nothing typed is lost. */
export async function send<T>(method: string, path: string, body?: unknown, query?: Query): Promise<T> {
  for (;;) {
    try {
      return await ask<T>(method, address("api/v1/" + path, query), body ?? (method === "DELETE" ? undefined : {}));
    } catch (e) {
      if (!(e instanceof Trouble) || e.status !== 401) throw e;
      const why = identity.value?.user ? "Your login has ended. Log in to go on." : "Changes need a login.";
      if (!(await demandLogin(why))) throw e;
    }
  }
}

export const demandLogin = (why: string) =>
  new Promise<boolean>((then) => {
    wanted.value = { why, then };
  });

export async function whoami(): Promise<void> {
  identity.value = await get<Identity>("identity");
}

export async function login(user: string, password: string): Promise<void> {
  identity.value = await ask<Identity>("POST", "login", { user, password });
}

export async function logout(): Promise<void> {
  identity.value = await ask<Identity>("POST", "logout", {});
}
