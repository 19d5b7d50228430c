// The orders that operators give to a server.
import { capital } from "./format";

export interface Order {
  id: string;
  path: string;
  /** With SERVER for the one that is meant. */
  title: string;
  /** On the button in the row of a server. */
  short: string;
  about: string;
  danger: boolean;
  does: string;
  fields: {
    name: string;
    label: string;
    kind: "number" | "text" | "server" | "level";
    usual: string;
    hint: string;
  }[];
  fixed?: Record<string, unknown>;
  command: (values: Record<string, string>) => string[];
}

/** What an order does to a server, which is named as in a sentence. */
export const titled = (o: Order, server: string) => capital(o.title.replace("SERVER", server));

export const orderOf = (id: string) => orders.find((o) => o.id === id)!;

export const orders: Order[] = [
  {
    id: "hand_over",
    path: "hand_over",
    command: (v) => ["lead", v.to],
    title: "Hand over the leadership",
    does: "Hand over",
    short: "Make leader",
    danger: false,
    about: "Another server becomes the leader, without an election.",
    fields: [{ name: "to", label: "New leader", kind: "server", usual: "", hint: "" }],
  },
  {
    id: "drain",
    path: "drain",
    command: (v) => ["drain", "--rate", v.rate],
    title: "Drain SERVER",
    does: "Drain",
    short: "Drain",
    danger: true,
    about: "Sends its clients to the other servers, and accepts no new ones.",
    fields: [
      {
        name: "rate",
        label: "Connections per second",
        kind: "number",
        usual: "100",
        hint: "How many are closed each second",
      },
    ],
  },
  {
    id: "resume",
    path: "drain",
    command: () => ["drain", "--resume"],
    title: "Resume accepting clients at SERVER",
    does: "Resume",
    short: "Resume",
    danger: false,
    about: "Ends the drain: the server accepts clients again.",
    fields: [],
    fixed: { resume: true },
  },
  {
    id: "shed",
    path: "shed_connections",
    command: (v) => ["shed", v.percentage],
    title: "Shed clients of SERVER",
    does: "Shed",
    short: "Shed",
    danger: true,
    about: "Closes the connections of a share of its clients. They connect again, to this server or to another one.",
    fields: [{ name: "percentage", label: "Percent of the clients", kind: "number", usual: "10", hint: "0 to 100" }],
  },
  {
    id: "end_session",
    path: "end_session",
    command: (v) => ["end-session", v.session],
    title: "End a session",
    does: "End session",
    short: "End session",
    danger: true,
    about: "Ends a session as if its client had been silent for its timeout. Its ephemeral znodes go with it.",
    fields: [
      { name: "session", label: "Session", kind: "text", usual: "", hint: "Its id, or its label at this server" },
    ],
  },
  {
    id: "take_snapshot",
    path: "take_snapshot",
    command: () => ["take-snapshot"],
    title: "Take snapshot on SERVER",
    does: "Take snapshot",
    short: "Snapshot",
    danger: false,
    about: "Writes a snapshot of the server's state to its disk.",
    fields: [],
  },
  {
    id: "log_level",
    path: "log_level",
    command: (v) => ["loglevel", v.level, "--for", v.seconds + "s"],
    title: "Change the log level of SERVER",
    does: "Change",
    short: "Log level",
    danger: false,
    about: "Changes the level of the server's log, for a time or until it stops.",
    fields: [
      { name: "level", label: "Level", kind: "level", usual: "debug", hint: "" },
      { name: "seconds", label: "Duration in seconds", kind: "number", usual: "600", hint: "0 for no time limit" },
    ],
  },
];
