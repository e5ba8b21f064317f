// Answers the greeting of a kiosk: docs/smartkey.md, section 14, path 2. The greeting is in the fragment, which no server sees. All of it works
// without internet, except a renewal of a key that has expired.
import { draw } from "./qr";
import { base45 } from "./smartkey/base45";
import { readGreeting, type Greeting } from "./smartkey/documents";
import { answer, doorsOf, renewed, type KeptDoor } from "./smartkey/phone";

const nonceSeconds = 30; // then no bridge takes the answer
const renewSeconds = 8; // a renewal that takes longer leaves too little of them

function greetingOf(fragment: string): Greeting | undefined {
  try {
    const text = fragment.slice(1).replaceAll("-", "+").replaceAll("_", "/");
    return readGreeting(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

/** Returns the doors of a bridge whose key has not expired, or why there is none. */
async function usable(bridge: string): Promise<KeptDoor[] | "noKey" | "expired" | "ended"> {
  const kept = await doorsOf(bridge).catch(() => []);
  if (kept.length === 0) return "noKey";
  const valid = kept.filter((d) => !d.expired);
  if (valid.length > 0) return valid;
  const outcomes = await Promise.all([...new Set(kept.map((d) => d.stay))].map((stay) => renewed(stay, renewSeconds)));
  const doors = (await doorsOf(bridge)).filter((d) => !d.expired);
  if (doors.length > 0) return doors;
  return outcomes.includes("unreachable") ? "expired" : "ended";
}

const template = (id: string) => (document.getElementById(id) as HTMLTemplateElement).content.cloneNode(true) as DocumentFragment;

export async function greeted(): Promise<void> {
  const area = document.getElementById("greeted");
  if (!area) return;
  const [state, list] = [area.querySelector<HTMLElement>("[data-state]")!, area.querySelector("ul")!];
  const shown = document.getElementById("answer")!;
  const say = (kind: string) => {
    state.replaceChildren(area.querySelector<HTMLTemplateElement>(`template[data-says="${kind}"]`)!.content.cloneNode(true));
    state.hidden = false;
  };
  const show = async (door: KeptDoor, greeting: Greeting) => {
    say("sending");
    const drawn = template("greeted-answer");
    drawn.querySelector("[data-name]")!.textContent = door.name;
    draw("SK1:" + base45(await answer(door, greeting)), drawn.querySelector("svg")!);
    shown.replaceChildren(drawn);
    say("show");
    list.replaceChildren();
    setTimeout(() => (shown.replaceChildren(), say("over")), 1000 * nonceSeconds);
  };
  const greeting = greetingOf(location.hash);
  history.replaceState(null, "", location.pathname); // the greeting is not in the history
  if (!greeting) return say("noGreeting");
  say("sending");
  const doors = await usable(greeting.bridge);
  if (typeof doors === "string") return say(doors);
  say("choose");
  for (const door of doors) {
    const row = template("greeted-door");
    row.querySelector("[data-name]")!.textContent = door.name;
    row.querySelector("button")!.addEventListener("click", () => void show(door, greeting).catch(() => say("noKey")), { once: true });
    list.append(row);
  }
}
