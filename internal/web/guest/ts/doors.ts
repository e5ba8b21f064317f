// Opening doors with this browser's SmartKey.
import { CannotKeep, open, ready, type Door } from "./smartkey/phone";
import { within } from "../../kit/ts/page";

const holdMillis = 600; // a pocket or a slip of the finger opens nothing
const openMillis = 10_000; // locks lock again after some seconds; no answer says after how many
const area = document.getElementById("open");

/** Asks for a link with the page's session. */
async function link(): Promise<string> {
  const answer = await fetch(area!.dataset.link!, { method: "POST", headers: { "Latchkey-Script": "1" }, signal: within(10) });
  if (!answer.ok) throw new Error(`no link: ${answer.status}`);
  return (await answer.json()).link;
}

/** Returns the line above the buttons, for what concerns no single door. */
const state = () => area!.querySelector<HTMLElement>("[data-state]")!;

/** Says one of the sentences that the page brought along. */
function say(into: HTMLElement, kind: string): void {
  const sentence = (name: string) => area!.querySelector<HTMLTemplateElement>(`template[data-says="${CSS.escape(name)}"]`);
  const found = sentence(kind) ?? sentence(kind.split(".")[0]) ?? sentence("refused");
  into.replaceChildren(found!.content.cloneNode(true));
  into.dataset.tone = found!.dataset.tone ?? "";
  into.hidden = false;
}

const rows = new Map<string, HTMLElement>();

/** Shows a button for each door. The row of a door that has one stays, with what it says. */
function draw(stay: string, doors: Door[]): void {
  const drawn = doors.map((d) => rows.get(d.door) ?? row(stay, d));
  rows.clear();
  doors.forEach((d, i) => rows.set(d.door, drawn[i]));
  area!.querySelector("ul")!.replaceChildren(...drawn);
}

function row(stay: string, door: Door): HTMLElement {
  const item = (document.getElementById("open-door") as HTMLTemplateElement).content.cloneNode(true) as DocumentFragment;
  item.querySelector("[data-name]")!.textContent = door.name;
  const made = item.firstElementChild as HTMLElement;
  const [button, said] = [made.querySelector("button")!, made.querySelector<HTMLElement>("[data-said]")!];
  let busy = false;
  let locking = 0;
  const press = async () => {
    if (busy) return;
    busy = true;
    button.setAttribute("aria-disabled", "true");
    say(said, "sending");
    clearTimeout(locking);
    const done = await open(stay, door.door);
    if (done.doors) draw(stay, done.doors);
    if (done.result === "opened") locking = window.setTimeout(() => (said.hidden = true), openMillis);
    say(done.result === "moved" ? state() : said, done.result === "refused" ? `refused.${done.reason}` : done.result);
    button.removeAttribute("aria-disabled");
    busy = false;
  };
  let holding = 0;
  let held = false; // the touch that ends with the next click was long enough
  const release = () => {
    clearTimeout(holding);
    delete button.dataset.held;
  };
  button.addEventListener("pointerdown", (e) => {
    if (!e.isPrimary || e.button !== 0) return;
    button.dataset.held = "";
    held = false;
    holding = window.setTimeout(() => (release(), (held = true), void press()), holdMillis);
  });
  for (const name of ["pointerup", "pointerleave", "pointercancel"] as const) button.addEventListener(name, release);
  // The keyboard and screen readers press without a pointer. A short touch says what to do.
  button.addEventListener("click", (e) => {
    if (e.detail === 0) return void press();
    if (busy || held) return;
    clearTimeout(locking);
    say(said, "press");
  });
  button.addEventListener("contextmenu", (e) => e.preventDefault());
  return made;
}

/** Shows a button for each door that this browser opens. */
export async function doors(): Promise<void> {
  if (!area) return;
  const stay = area.dataset.stay!;
  try {
    const opens = await ready(stay, link, area.dataset.device ?? "", area.dataset.doors ?? "");
    draw(stay, opens);
    if (opens.length === 0) say(state(), "noDoor");
  } catch (error) {
    draw(stay, []);
    say(state(), error instanceof CannotKeep ? `cannotKeep.${error.cause}` : "notReady");
  }
}
