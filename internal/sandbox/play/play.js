// The page shows what happens by itself: it reads itself again every two seconds and replaces the sections that changed.
const every = 2000;
const seen = new Map();
const parts = (page) => page.querySelectorAll("[data-live]");
for (const part of parts(document)) seen.set(part.id, part.innerHTML);
const focusable = "a, button, input, select, summary";

const isBusy = (part) => {
  const at = document.activeElement;
  if (at && part.contains(at) && at.matches("input, select, .keys button")) return true;
  return [...part.querySelectorAll("input")].some((i) => i.type !== "hidden" && i.value !== i.defaultValue);
};

const refresh = async () => {
  if (document.hidden) return;
  const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts(next)) {
    const now = document.getElementById(part.id);
    if (!now || seen.get(part.id) === part.innerHTML || isBusy(now)) continue;
    const open = [...now.querySelectorAll("details[open]")].map((d) => d.id);
    const focus = [...now.querySelectorAll(focusable)].indexOf(document.activeElement);
    seen.set(part.id, part.innerHTML);
    now.replaceChildren(...part.childNodes);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focus >= 0) now.querySelectorAll(focusable)[focus]?.focus({ preventScroll: true });
  }
};

setInterval(() => refresh().catch(() => {}), every);

// The keypad of a door types into its field.
document.addEventListener("click", (e) => {
  const key = e.target.closest(".keys button");
  if (!key) return;
  const form = key.closest(".door").querySelector("form.pin");
  const field = form.elements.pin;
  if (key.value === "enter") form.requestSubmit();
  else if (key.value === "clear") field.value = "";
  else if (field.value.length < field.maxLength) field.value += key.value;
});
