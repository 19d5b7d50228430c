// An action of the console as one types it: a command, and a call of the API.
import { Copy } from "lucide";
import { ensemble } from "./facts";
import { Button, copy } from "./parts";

/** A text as one word of a shell. */
export const word = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", String.raw`'\''`) + "'";

/** A command of warren shell, at the server whose page this is. */
export function shell(...words: string[]): string {
  const self = ensemble.value?.members.find((m) => m.self);
  const at = self?.clientAddress || location.hostname + ":2181";
  return ["warren", "shell", "-s", at, ...words].map(word).join(" ");
}

/** A command that gives an order to the server with an admin port, such as host:port; "" is the one of this page. */
export function command(at: string, ...words: string[]): string {
  const admin = at ? `${location.protocol}//${at}/commands` : new URL("../commands", location.href).href;
  return ["warren", ...words, "--admin", admin, "--auth-file", "FILE"].map(word).join(" ");
}

/** A call of the API. */
export function call(method: string, path: string, query: Record<string, string> = {}, body?: unknown): string {
  const at = new URL("../api/v1/" + path, location.href.split("#")[0]);
  for (const [name, value] of Object.entries(query)) at.searchParams.set(name, value);
  const parts = [
    "curl",
    ...(method === "GET" ? [] : ["-X", method]),
    at.href,
    "-H",
    "Authorization: digest USER:PASSWORD",
  ];
  if (body !== undefined) parts.push("-H", "Content-Type: application/json", "-d", JSON.stringify(body));
  return parts.map(word).join(" ");
}

/** A command with a button that copies it. */
export const Command = ({ name, text }: { name: string; text: string }) => (
  <div class="command">
    <code>{text}</code>
    <Button quiet small icon={Copy} label={"Copy " + name} onClick={() => copy(text, "Command")} />
  </div>
);

/** An action as commands, folded. */
export const AsCommands = ({ of }: { of: [string, string][] }) => (
  <details class="commands">
    <summary>As a command</summary>
    {of.map(([name, text]) => (
      <Command key={name} name={name} text={text} />
    ))}
  </details>
);
