package browser

import "fmt"

// clock keeps the timers of a page's scripts, so that Pass can bring them forward. They also run at their own time: a page goes on as
// it always does. The service worker has a clock of its own.
const clock = `(() => {
	const timers = new Map();
	let passed = 0;
	let slept = 0;
	const now = () => performance.now() + passed;
	const date = Date.now.bind(Date);
	Date.now = () => date() + passed + slept;
	for (const kind of ["Timeout", "Interval"]) {
		const set = window["set" + kind].bind(window), clear = window["clear" + kind].bind(window);
		window["set" + kind] = (run, every = 0, ...args) => {
			const timer = {every, due: now() + every, repeats: kind === "Interval"};
			const id = set(() => timer.run(), every);
			timer.run = () => {
				if (timer.repeats) timer.due = now() + every;
				else { clear(id); timers.delete(id); }
				run(...args);
			};
			timers.set(id, timer);
			return id;
		};
		window["clear" + kind] = (id) => { clear(id); timers.delete(id); };
	}
	Object.defineProperty(window, "passTime", {value: (ms) => {
		const until = passed + ms, end = now() + ms;
		for (let n = 0; n < 10000; n++) {
			const next = [...timers.values()].filter((t) => t.due <= end).sort((a, b) => a.due - b.due)[0];
			if (!next) break;
			passed += Math.max(0, next.due - now());
			next.run();
		}
		passed = Math.max(passed, until);
	}});
	Object.defineProperty(window, "sleepTime", {value: (ms, hidden) => {
		const seen = () => document.dispatchEvent(new Event("visibilitychange"));
		if (hidden) {
			Object.defineProperty(document, "hidden", {value: true, configurable: true});
			seen();
		}
		slept += ms;
		if (hidden) {
			delete document.hidden;
			seen();
		}
	}});
})()`

// WithClock replaces the clock of the page's scripts, so that a test can use Pass, Sleep and Hide.
func WithClock(c *settings) { c.clock = true }

// Pass makes time pass for the page: the timers that are due within these seconds run at once. The page must be opened WithClock.
func (p *Page) Pass(seconds int) {
	p.t.Helper()
	p.changeTime(fmt.Sprintf("passTime(%d)", 1000*seconds))
}

// Sleep simulates a device that sleeps for these seconds: the time of day advances, but no timer of the page runs. The page must be
// opened WithClock.
func (p *Page) Sleep(seconds int) {
	p.t.Helper()
	p.changeTime(fmt.Sprintf("sleepTime(%d, false)", 1000*seconds))
}

// Hide simulates a page in the background for these seconds, in which no timer runs, and shows it again. The page must be opened
// WithClock.
func (p *Page) Hide(seconds int) {
	p.t.Helper()
	p.changeTime(fmt.Sprintf("sleepTime(%d, true)", 1000*seconds))
}

// changeTime runs one of the functions of clock, after the page's scripts have set their first timers.
func (p *Page) changeTime(expression string) {
	p.t.Helper()
	p.settle()
	p.Script(expression)
}
