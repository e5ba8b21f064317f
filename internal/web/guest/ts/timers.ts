// The tablet forgets a guest who has left.
const idleSeconds = 90;
const stillSeconds = 20;
const codeSeconds = 30;

let left = idleSeconds;
let last = Date.now(); // when the time of the page was counted last
let seen = !document.hidden; // the page was visible
let asked = false;
let paused = false;

const still = () => document.getElementById("still") as HTMLDialogElement | null;

export function pause(on: boolean): void {
  paused = on;
  if (!on) touch();
}

/** Restarts the time of the page. */
export function touch(): void {
  const kind = document.body.dataset.idle;
  left = kind === "code" ? codeSeconds : idleSeconds;
  asked = false;
  still()?.close();
}

function write(): void {
  for (const e of document.querySelectorAll("[data-left]")) e.textContent = String(left);
}

/**
 * Counts the time of the page. end ends the guest's visit; leave does too, and at once: the page was hidden, or the tablet asleep, for longer than
 * a guest has, and another person may look at it now.
 */
export function timers(end: () => void, leave: () => void): void {
  touch();
  write();
  // The time of the code is counted from when it is shown; a touch does not lengthen it, "More time" does.
  for (const event of ["pointerdown", "keydown"]) {
    addEventListener(event, () => document.body.dataset.idle !== "code" && !asked && touch(), { passive: true });
  }
  document.addEventListener("click", (e) => {
    if ((e.target as Element).closest("[data-stay], [data-more]")) touch();
  });
  still()?.addEventListener("cancel", () => touch());
  // No timer runs while the tablet is asleep, and few while the page is hidden: the clock tells how long that was.
  const count = () => {
    if (document.hidden) return;
    const passed = Math.max(1, Math.round((Date.now() - last) / 1000));
    last = Date.now();
    const kind = document.body.dataset.idle;
    if (kind !== "guest" && kind !== "code") return;
    if (passed >= (kind === "code" ? codeSeconds : idleSeconds + stillSeconds)) return leave();
    if (paused) return;
    left -= passed;
    if (left <= 0 && (kind === "code" || asked)) return end();
    if (left <= 0) {
      asked = true;
      left = stillSeconds;
      still()?.showModal();
    }
    write();
  };
  setInterval(count, 1000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    if (!seen) last = Date.now(); // a code has its time from when it is shown
    seen = true;
    count();
  });
}
