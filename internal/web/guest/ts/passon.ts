// A link to pass on is copied or shared with a press. A phone shows only its beginning.

/** Copies what is in an input. Without a secure connection (https), browsers have no clipboard for scripts, but copy what is selected. */
async function copy(from: HTMLInputElement): Promise<boolean> {
  from.select();
  try {
    await navigator.clipboard.writeText(from.value);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}

/** Makes the buttons of a page with a new link work. */
export function passOn(): void {
  const area = document.getElementById("pass-on");
  const link = document.querySelector<HTMLInputElement>("input.copy");
  if (!area || !link) return;
  area.querySelector("[data-copy]")!.addEventListener("click", async () => {
    area.querySelector<HTMLElement>("[data-copied]")!.hidden = !(await copy(link));
  });
  const share = area.querySelector<HTMLElement>("[data-share]")!;
  share.hidden = !("share" in navigator);
  share.addEventListener("click", () => void navigator.share({ title: document.title, url: link.value }).catch(() => {})); // the guest changed their mind
}
