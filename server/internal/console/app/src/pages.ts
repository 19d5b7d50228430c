// The pages, in the order of the rail. Those with an old address are pages that the server writes.
import {
  Archive,
  ArrowLeftRight,
  BookOpen,
  ChartNoAxesColumn,
  FolderTree,
  Gauge,
  Grid2x2,
  History,
  Key,
  Link,
  Network,
  Radio,
  ScrollText,
  Search,
  Server,
  Settings,
  Timer,
  Users,
} from "lucide";

export interface Page {
  id: string;
  title: string;
  icon: any;
  group: string;
  old?: string;
  words?: string;
}

export const pages: Page[] = [
  { id: "overview", title: "Overview", icon: Gauge, group: "", words: "health status verdict charts" },
  { id: "tree", title: "Tree", icon: FolderTree, group: "Data", words: "znodes data edit create" },
  { id: "search", title: "Search", icon: Search, group: "Data", words: "find path" },
  { id: "past", title: "Time travel", icon: History, group: "Data", words: "past restore" },
  { id: "difference", title: "Compare moments", icon: ArrowLeftRight, group: "Data", words: "diff past" },
  { id: "live", title: "Live changes", icon: Radio, group: "Data", words: "follow watch stream" },
  { id: "sessions", title: "Sessions", icon: Users, group: "Clients", words: "connections clients ephemerals" },
  { id: "recipes", title: "Locks and recipes", icon: Key, group: "Clients", words: "lock election queue semaphore" },
  { id: "links", title: "Shared links", icon: Link, group: "Clients", old: "links", words: "share" },
  { id: "top", title: "Top", icon: ChartNoAxesColumn, group: "Load", words: "hot paths clients requests" },
  { id: "slow", title: "Slow operations", icon: Timer, group: "Load", words: "latency stages" },
  { id: "sizes", title: "Sizes", icon: Grid2x2, group: "Load", words: "bytes treemap space" },
  {
    id: "servers",
    title: "Servers and orders",
    icon: Server,
    group: "Operations",
    words: "drain hand over leader shed snapshot log level steering",
  },
  { id: "configuration", title: "Configuration", icon: Settings, group: "Operations", words: "settings zoo.cfg" },
  { id: "backups", title: "Backups", icon: Archive, group: "Operations", words: "snapshots restore verify age" },
  { id: "audit", title: "Audit log", icon: ScrollText, group: "Operations", words: "who changed users" },
  { id: "ensembles", title: "Ensembles", icon: Network, group: "Operations", words: "others" },
  { id: "docs", title: "Documentation", icon: BookOpen, group: "Help", old: "../docs/", words: "manual pages guide" },
];

/** Pages that others lead to: the page of the rail to which each belongs, and its title. */
const details: Record<string, [string, string]> = {
  session: ["sessions", "Session"],
  recipe: ["recipes", "Lock or recipe"],
};

export const sectionOf = (id: string) => details[id]?.[0] ?? id;
export const titleOf = (id: string) => details[id]?.[1] ?? pages.find((p) => p.id === id)?.title ?? "Not found";
