// An open page follows what changes: the service announces ids, and the page loads its parts again.
import { parse, put, within } from "../../kit/ts/page";

const answerSeconds = 10;

/** Reports whether a part must stay, because a person types in it or has opened a menu of it. */
function inUse(part: Element): boolean {
  const now = document.activeElement;
  return part.querySelector("details[open]") !== null || (part.contains(now) && now !== null && now.matches("input, textarea, select"));
}

/** Puts the parts of a fetched page in place and marks the rows that changed. */
function refresh(from: Document): void {
  for (const part of document.querySelectorAll("[data-part]")) {
    if (inUse(part)) continue;
    const text = (row: Element) => row.textContent;
    const before = new Map([...part.querySelectorAll("tr[id]")].map((row) => [row.id, text(row)]));
    put(part.id, from);
    for (const row of part.querySelectorAll("tr[id]")) if (before.size && before.get(row.id) !== text(row)) row.classList.add("changed");
  }
}

export function follow(): void {
  const state = document.querySelector<HTMLElement>("[data-feed]");
  if (!state) return;
  const [on, off] = [state.querySelector<HTMLElement>("[data-on]")!, state.querySelector<HTMLElement>("[data-off]")!];
  let source: EventSource | undefined;
  let loading = false;
  let again = false;
  const show = (live: boolean) => {
    if (!live && state.hidden) return; // it has never been live
    if (!live && off.hidden) off.querySelector("[data-at]")!.textContent = new Date().toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" });
    state.hidden = false;
    on.hidden = !live;
    off.hidden = live;
  };
  const load = async () => {
    if (loading) return void (again = true);
    loading = true;
    try {
      const answer = await fetch(location.href, { headers: { "Latchkey-Script": "1" }, credentials: "same-origin", signal: within(answerSeconds) });
      const next = answer.headers.get("Latchkey-Location");
      if (next) return location.assign(next);
      if (answer.ok) refresh(parse(await answer.text()));
    } catch {
      show(false); // the next message of the stream loads them
    } finally {
      loading = false;
      if (again) {
        again = false;
        void load();
      }
    }
  };
  const open = () => {
    source = new EventSource(state.dataset.feed!);
    source.onopen = () => show(true);
    source.onerror = () => show(false);
    source.addEventListener("changed", (e) => {
      const { ids, all } = JSON.parse((e as MessageEvent).data) as { ids: string[]; all: boolean };
      if (all || !state.dataset.of || ids.includes(state.dataset.of)) void load();
    });
    source.addEventListener("refused", () => {
      source?.close();
      location.reload(); // the page says why
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source?.close();
      source = undefined;
    } else if (!source) open(); // its first message says that everything may have changed
  });
  if (!document.hidden) open();
}
