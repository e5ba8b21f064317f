// Answers the greeting of a kiosk: docs/smartkey.md, section 14, path 2. The greeting is in the fragment, which no server sees.
import { parse, put, within } from "../../kit/ts/page";
import { base45 } from "./smartkey/base45";
import { readGreeting, type Greeting } from "./smartkey/documents";
import { answer, doorsOf, type KeptDoor } from "./smartkey/phone";

const answerSeconds = 10;
const nonceSeconds = 30; // then no bridge takes the answer

function greetingOf(fragment: string): Greeting | undefined {
  try {
    const text = fragment.slice(1).replaceAll("-", "+").replaceAll("_", "/");
    return readGreeting(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

export async function greeted(): Promise<void> {
  const area = document.getElementById("greeted");
  if (!area) return;
  const [state, list] = [area.querySelector<HTMLElement>("[data-state]")!, area.querySelector("ul")!];
  const say = (kind: string) => {
    state.replaceChildren(area.querySelector<HTMLTemplateElement>(`template[data-says="${kind}"]`)!.content.cloneNode(true));
    state.hidden = false;
  };
  const show = async (door: KeptDoor, greeting: Greeting) => {
    say("sending");
    try {
      const signed = await answer(door, greeting);
      const body = new URLSearchParams({ answer: "SK1:" + base45(signed), door: door.name });
      const made = await fetch(location.pathname, { method: "POST", body, signal: within(answerSeconds) });
      if (!made.ok) throw new Error(`no QR code: ${made.status}`);
      put("answer", parse(await made.text()));
      say("show");
      list.replaceChildren();
      setTimeout(() => (document.getElementById("answer")!.replaceChildren(), say("over")), 1000 * nonceSeconds);
    } catch {
      say("away");
    }
  };
  const greeting = greetingOf(location.hash);
  history.replaceState(null, "", location.pathname); // the greeting is not in the history
  if (!greeting) return say("noGreeting");
  const doors = await doorsOf(greeting.bridge).catch(() => []);
  if (doors.length === 0) return say("noKey");
  say("choose");
  const item = (document.getElementById("greeted-door") as HTMLTemplateElement).content;
  for (const door of doors) {
    const row = item.cloneNode(true) as DocumentFragment;
    row.querySelector("[data-name]")!.textContent = door.name;
    row.querySelector("button")!.addEventListener("click", () => void show(door, greeting), { once: true });
    list.append(row);
  }
}
