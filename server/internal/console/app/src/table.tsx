// A table that is sorted by its heads, and shows its rows as far as they are needed. On a phone, a row of more than
// three columns becomes a paragraph.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ArrowDown, ArrowUp } from "lucide";
import { Button, Icon } from "./parts";

export interface Column<T> {
  name: string;
  num?: boolean;
  wrap?: boolean;
  /** A phone shows it without its name. */
  plain?: boolean;
  /** A phone leaves it out. */
  minor?: boolean;
  cell: (row: T) => ComponentChildren;
  by?: (row: T) => number | string;
}

/** The server that a row is about. */
export const serverColumn = <T extends { server: number }>(): Column<T> => ({
  name: "Server",
  by: (row) => row.server,
  cell: (row) => row.server,
});

const step = 500;

export function Table<T>({
  label,
  columns,
  rows,
  keyOf,
  start,
  down = true,
  open,
}: {
  label: string;
  columns: Column<T>[];
  rows: T[];
  keyOf: (row: T) => string;
  start?: number;
  down?: boolean;
  open?: (row: T) => void;
}) {
  const by = useSignal(start ?? -1),
    falls = useSignal(down),
    most = useSignal(step);
  const value = columns[by.value]?.by;
  const sorted = !value
    ? rows
    : [...rows].sort((a, b) => {
        const x = value(a),
          y = value(b);
        return (x < y ? -1 : x > y ? 1 : 0) * (falls.value ? -1 : 1);
      });
  return (
    <>
      <div class="scroll-x" role="region" aria-label={label} tabIndex={0}>
        <table class={"t" + (columns.length > 3 ? " paragraphs" : "")}>
          <thead>
            <tr>
              {columns.map((c, i) => (
                <th
                  scope="col"
                  class={c.num ? "num" : ""}
                  key={c.name}
                  aria-sort={i === by.value ? (falls.value ? "descending" : "ascending") : undefined}
                >
                  {c.by ? (
                    <button
                      type="button"
                      onClick={() => {
                        falls.value = i === by.value ? !falls.value : !!c.num;
                        by.value = i;
                      }}
                    >
                      {c.name}
                      {i === by.value && <Icon of={falls.value ? ArrowDown : ArrowUp} />}
                    </button>
                  ) : (
                    c.name
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, most.value).map((r) => (
              <tr key={keyOf(r)} onClick={open && (() => open(r))}>
                {columns.map((c, i) => {
                  const cls = [c.num && "num", c.wrap && "wrap", c.minor && "minor"].filter(Boolean).join(" ");
                  return i === 0 ? (
                    <th scope="row" class={cls} key={c.name}>
                      {c.cell(r)}
                    </th>
                  ) : (
                    <td class={cls} key={c.name} data-name={c.plain ? undefined : c.name}>
                      {c.cell(r)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {sorted.length > most.value && (
        <div style={{ padding: "8px 12px" }}>
          <Button small onClick={() => (most.value += step)}>
            Show {Math.min(step, sorted.length - most.value)} more
          </Button>
        </div>
      )}
    </>
  );
}
