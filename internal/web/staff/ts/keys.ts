// Single keys: "/" finds, j and k move between the rows of a list, o and m lead from the row with the focus to the doors and the messages of its stay,
// g and a letter open a page, "?" shows them all. A person can switch them off (WCAG 2.1.4), and they do nothing while the person types.
const rowPages: Record<string, string> = { o: "#doors", m: "/messages" }; // below the page of the stay
const pages: Record<string, string> = { t: "/app/today", s: "/app/spaces", l: "/app/locks" };
const switchedOff = "lk-keys-off";
const secondKey = 1500; // milliseconds in which the letter after g counts

const typesIn = (e: Element | null) => e !== null && e.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");

/** Moves the focus to the first link of the next or previous row of the page's lists. */
function move(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main tbody tr, main .rows > li")].map((row) => row.querySelector("a")).filter((a) => a !== null);
  const at = rows.findIndex((a) => a.closest("tr, li")!.contains(document.activeElement));
  rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by]?.focus();
}

/** Returns the page to which a key leads from the row with the focus, if the list offers the key. */
function pageOfRow(key: string): string | undefined {
  const link = document.activeElement?.closest("[data-row-keys] tr")?.querySelector("a");
  return link && key in rowPages && link.closest<HTMLElement>("[data-row-keys]")!.dataset.rowKeys!.includes(key) ? link.href + rowPages[key] : undefined;
}

export function keys(find: () => void): void {
  const dialog = document.getElementById("keys") as HTMLDialogElement | null;
  if (!dialog) return;
  const box = dialog.querySelector<HTMLInputElement>("input")!;
  box.checked = !localStorage.getItem(switchedOff);
  box.addEventListener("change", () => (box.checked ? localStorage.removeItem(switchedOff) : localStorage.setItem(switchedOff, "1")));
  const help = () => {
    document.querySelector<HTMLDialogElement>("dialog[open]")?.close();
    dialog.showModal();
  };
  for (const button of document.querySelectorAll("[data-keys]")) button.addEventListener("click", help);
  const acts: Record<string, () => void> = { "/": find, "?": help, j: () => move(1), k: () => move(-1) };
  let went = 0; // when g was pressed
  document.addEventListener("keydown", (e) => {
    if (!box.checked || e.ctrlKey || e.metaKey || e.altKey || typesIn(document.activeElement) || document.querySelector("dialog[open]")) return;
    const page = (e.timeStamp - went < secondKey ? pages[e.key] : undefined) ?? pageOfRow(e.key);
    went = e.key === "g" ? e.timeStamp : 0;
    const act = page ? () => location.assign(page) : acts[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  });
}
