import "./drawn";
import { makeKey, sign } from "./key";
import { live } from "../../kit/ts/live";
import { focusFirst, parse, show, within, workerURL } from "../../kit/ts/page";
import { pause, timers, touch } from "./timers";

const leave = (url: string) => location.replace(url);
// A tablet whose internet is lost may get neither an answer nor an error. The PMS may take its time: the server gives up before a minute.
const answerSeconds = 10;
const askSeconds = 60;
const withoutGuest = ["start", "closed", "cut"];
const cut = () => leave(withoutGuest.includes(document.body.dataset.idle!) ? "/k/closed" : "/k/cut");

// Nothing is in the history: neither a link nor a form adds an entry.
document.addEventListener("click", (e) => {
  const link = (e.target as Element).closest("a");
  if (!link || e.defaultPrevented || link.getAttribute("href")!.startsWith("#")) return;
  e.preventDefault();
  if (link.origin === location.origin) leave(link.href);
});

let sending = false;
document.addEventListener("submit", async (e) => {
  e.preventDefault();
  if (sending) return;
  sending = true;
  const form = e.target as HTMLFormElement;
  const asks = "asks" in form.dataset;
  const wait = document.getElementById("asking") as HTMLDialogElement | null;
  pause(true); // a guest who waits for an answer has not left
  if (asks) wait?.showModal();
  try {
    await prepare(form);
    const body = new URLSearchParams(new FormData(form, e.submitter) as unknown as Record<string, string>);
    const url = form.getAttribute("action")!;
    if (url === "/k/end") document.getElementById("main")!.replaceChildren(); // nothing of the guest waits for the answer
    const answer = await fetch(url, { method: "POST", body, headers: { "Latchkey-Script": "1" }, signal: within(asks ? askSeconds : answerSeconds) });
    const moved = answer.headers.get("Latchkey-Location");
    if (moved) return leave(moved);
    const next = parse(await answer.text());
    wait?.close(); // gives the focus back, before the answer takes it
    show(next);
    touch();
  } catch (error) {
    if (error instanceof NoKey) document.querySelector<HTMLElement>("[data-nokey]")?.removeAttribute("hidden");
    else return cut();
  } finally {
    sending = false;
    wait?.close();
    pause(false);
  }
});

// The question to the PMS has no cancel: the guest would not know whether it was asked.
document.getElementById("asking")?.addEventListener("keydown", (e) => e.key === "Escape" && e.preventDefault());
document.getElementById("asking")?.addEventListener("cancel", (e) => e.preventDefault());

class NoKey extends Error {}

async function prepare(form: HTMLFormElement): Promise<void> {
  const set = (name: string, value: string) => ((form.elements.namedItem(name) as HTMLInputElement).value = value);
  try {
    if ("enrol" in form.dataset) set("publicKey", await makeKey());
    if ("sign" in form.dataset) set("signature", await sign((form.elements.namedItem("challenge") as HTMLInputElement).value));
  } catch {
    if ("sign" in form.dataset) return leave("/k/enrol");
    throw new NoKey();
  }
}

// Larger text, for this guest only: the start page ends the visit, unless a guest has just chosen the language there.
const idle = document.body.dataset.idle;
if (idle === "start" && location.search !== "?chosen") sessionStorage.clear();
const larger = document.querySelector<HTMLElement>("button[data-larger]");
const enlarge = (on: boolean) => {
  document.documentElement.toggleAttribute("data-larger", on);
  larger?.setAttribute("aria-pressed", String(on));
};
enlarge(sessionStorage.getItem("larger") !== null);
larger?.addEventListener("click", () => {
  const on = !document.documentElement.hasAttribute("data-larger");
  enlarge(on);
  on ? sessionStorage.setItem("larger", "1") : sessionStorage.removeItem("larger");
});

// These pages load the start page by themselves, at whatever address the service worker shows them: it shows whether check-in is open.
if (withoutGuest.includes(idle!)) setTimeout(() => leave("/k/"), 1000 * Number(document.body.dataset.refresh));

document.addEventListener("contextmenu", (e) => e.preventDefault());
focusFirst();
// Waiting for the PMS is not leaving, for two minutes at most.
if (location.pathname === "/k/asking") {
  pause(true);
  setTimeout(() => pause(false), 120_000);
}
timers(
  () => (document.getElementById("end") as HTMLFormElement).requestSubmit(),
  () => {
    document.getElementById("main")!.replaceChildren(); // nothing of the guest waits for the start page, which ends the visit
    leave("/k/");
  },
);
live(leave, cut);
navigator.serviceWorker?.register(workerURL("/k/sw.js"), { scope: "/k/" }).catch(() => {});
(navigator as any).wakeLock?.request("screen").catch(() => {});
