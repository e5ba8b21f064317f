// The server's time. A phone's clock may be a day off, so a page says when the server made it.
const made = document.body.dataset.now;

/** How far the server's clock is ahead of this phone's, in milliseconds. 0 on a page that the phone kept. */
export const ahead = made ? Date.parse(made) - Date.now() : 0;

export const now = (): number => Date.now() + ahead;
