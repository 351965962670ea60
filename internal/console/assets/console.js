// Says when the server does not answer what a page asks for by itself, leads to the search by a key, copies ids, and ticks all of a list at
// once.
"use strict";
{
	const stale = document.getElementById("stale");
	if (document.body.dataset.instead) history.replaceState(null, "", document.body.dataset.instead);
	// A form whose session is over waits in this tab for a sign-in by a link that is opened in it, and no longer than until another page is shown.
	const kept = document.querySelector("form [name=kept]");
	if (!kept) sessionStorage.removeItem("kept");
	else if (kept.form.dataset.byLink === undefined) sessionStorage.setItem("kept", kept.value);
	else kept.value = sessionStorage.getItem("kept") ?? "";
	// The other language shows a form with what was typed in it, but for secrets and files.
	const typedIn = () => [...document.querySelectorAll("main form[method=post]")].flatMap((form, n) => {
		const secret = [...form.querySelectorAll("[name=unkept]")].map((one) => one.value);
		return [...form.elements].filter((one) => one.name && !["hidden", "password", "file", "submit", "button"].includes(one.type) && !secret.includes(one.name))
			.map((one, i) => ({ at: [n, i, one.name].join(), one, what: ["checkbox", "radio"].includes(one.type) ? "checked" : "value" }));
	});
	const typed = JSON.parse(sessionStorage.getItem("typed") ?? "null");
	sessionStorage.removeItem("typed");
	if (typed?.path === location.pathname) for (const { at, one, what } of typedIn()) {
		if (typed.values[at] === undefined || typed.values[at] === one[what]) continue;
		one[what] = typed.values[at];
		one.closest("details")?.setAttribute("open", "");
	}
	document.querySelector("#other-language")?.addEventListener("click", () => {
		const values = Object.fromEntries(typedIn().map(({ at, one, what }) => [at, one[what]]));
		sessionStorage.setItem("typed", JSON.stringify({ path: location.pathname, values }));
	});
	// A server that is gone refuses, or does not end its answer, or a proxy before it answers with an error. Our own error says so in its own place.
	const bad = (xhr) => xhr.status >= 500 && !xhr.getResponseHeader("HX-Retarget");
	document.addEventListener("htmx:configRequest", (e) => { if (e.detail.verb === "get") e.detail.timeout = 8000; });
	for (const gone of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(gone, () => { stale.hidden = false; });
	document.addEventListener("htmx:beforeSwap", (e) => { if (bad(e.detail.xhr)) e.detail.shouldSwap = false; });
	document.addEventListener("htmx:afterOnLoad", (e) => { stale.hidden = !bad(e.detail.xhr); });
	// A list that refreshes itself waits while somebody fills in a form in it, and while nobody sees it, but for a count that its title says.
	// So does one that somebody selects text of. The counts of a menu come with it while it asks, and else by themselves for as long as somebody is
	// there, since a session that nobody uses ends: by them each page hears that the server is gone.
	let touched = performance.now();
	for (const by of ["pointermove", "pointerdown", "keydown", "wheel"]) document.addEventListener(by, () => { touched = performance.now(); }, { passive: true });
	const selected = (live) => !getSelection().isCollapsed && live.contains(getSelection().anchorNode);
	const filled = (live) => live.querySelector("details:is(.pop, .decide)[open]") || selected(live);
	const asks = (live) => live && !filled(live);
	const rests = (live) => live.id === "live" && (filled(live) || document.hidden && !("needs" in live.dataset))
		|| live.id === "needs" && (document.hidden || asks(document.querySelector("#live[hx-get]")) || performance.now() - touched > 3600e3);
	// Meanwhile what says how long ago something was counted says when: that stays true.
	document.addEventListener("htmx:beforeRequest", (e) => {
		if (!rests(e.target)) return;
		e.preventDefault();
		for (const at of e.target.querySelectorAll("time[data-aged]")) at.textContent = at.title;
	});
	// What somebody has unfolded in it stays so: the server draws it folded.
	let unfolded = [];
	document.addEventListener("htmx:beforeSwap", (e) => { unfolded = [...e.detail.target.querySelectorAll("details[id][open]")].map((one) => one.id); });
	document.addEventListener("htmx:afterSwap", () => { for (const id of unfolded) document.getElementById(id)?.setAttribute("open", ""); });
	// At a wall a tone says that more needs somebody than before, or that the server is gone. Browsers let a page sound once somebody has clicked in it.
	const sound = document.getElementById("sound");
	if (sound) {
		const needs = () => stale.hidden ? Number(document.getElementById("live").dataset.needs) : Infinity;
		let out, before = needs();
		const tone = () => {
			const wave = new OscillatorNode(out, { frequency: 660 }), quiet = new GainNode(out, { gain: 0.2 });
			wave.connect(quiet).connect(out.destination);
			wave.start();
			wave.stop(out.currentTime + 0.4);
		};
		const wanted = () => sound.getAttribute("aria-pressed") === "true";
		sound.hidden = false;
		sound.addEventListener("click", async () => {
			sound.setAttribute("aria-pressed", String(!wanted()));
			sound.textContent = wanted() ? sound.dataset.lit : sound.dataset.dark;
			out ??= new AudioContext();
			await out.resume();
			if (wanted()) tone();
		});
		for (const done of ["htmx:afterSettle", "htmx:sendError", "htmx:timeout", "htmx:responseError"]) document.addEventListener(done, () => {
			const now = needs();
			if (now > before && wanted()) tone();
			before = now;
		});
	}
	const copies = () => { for (const b of document.querySelectorAll("button[data-copy]")) b.hidden = !navigator.clipboard; };
	copies();
	document.addEventListener("htmx:afterSettle", copies);
	document.addEventListener("click", async (e) => {
		const b = e.target.closest("button[data-copy]");
		if (b) {
			await navigator.clipboard.writeText(b.dataset.copy);
			b.classList.add("done");
			if (b.dataset.done) b.textContent = b.dataset.done;
		}
		for (const open of document.querySelectorAll("details.pop[open]")) if (!open.contains(e.target)) open.open = false;
	});
	// A table that is wider than its page scrolls by keyboard too, and is called by the heading above it. One that fits is no stop on the way.
	const fits = new ResizeObserver((list) => {
		for (const { target: e } of list) {
			const headings = [...document.querySelectorAll("main :is(h1, h2, h3, summary)")].filter((h) => h.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING);
			const scrolls = { tabindex: "0", role: "region", "aria-label": headings.at(-1)?.textContent.trim() || document.title };
			for (const [name, value] of Object.entries(scrolls)) e.scrollWidth > e.clientWidth ? e.setAttribute(name, value) : e.removeAttribute(name);
		}
	});
	const wide = () => { for (const e of document.querySelectorAll(".wide:not([tabindex])")) fits.observe(e); };
	wide();
	document.addEventListener("htmx:afterSettle", wide);
	for (const all of document.querySelectorAll("input[data-all]")) {
		const each = () => [...all.form.elements].filter((e) => e.name === all.dataset.all);
		all.hidden = false;
		all.addEventListener("change", () => { for (const e of each()) e.checked = all.checked; });
		all.form.addEventListener("change", (e) => {
			if (e.target.name === all.dataset.all) all.checked = each().every((one) => one.checked);
		});
	}
	// How many of a list are ticked stands beside what is done with them.
	for (const chosen of document.querySelectorAll("output[data-picked]")) {
		const { form } = chosen, number = chosen.querySelector("b");
		const count = () => {
			const n = [...form.elements].filter((e) => e.name === chosen.dataset.picked && e.checked).length;
			number.textContent = form.elements.all?.checked ? chosen.dataset.every : n;
		};
		chosen.hidden = false;
		form.addEventListener("change", count);
		window.addEventListener("pageshow", count);
	}
	// Of a file that is only looked at, its beginning goes, but of a workbook or a compressed one. It stands behind all other fields: those say how to read it.
	document.addEventListener("htmx:configRequest", (e) => {
		const name = e.detail.elt.dataset?.head, form = e.detail.formData;
		const file = name && form.get(name);
		if (!(file instanceof File)) return;
		form.delete(name);
		form.append(name, /\.(xlsx|gz|zst)$/i.test(file.name) ? file : file.slice(0, 1 << 18), file.name);
	});
	for (const drop of document.querySelectorAll("label.drop")) {
		for (const over of ["dragover", "dragleave", "drop"]) drop.addEventListener(over, (e) => { e.preventDefault(); drop.classList.toggle("over", over === "dragover"); });
		drop.addEventListener("drop", (e) => {
			const into = drop.querySelector("input");
			into.files = e.dataTransfer.files;
			into.dispatchEvent(new Event("change", { bubbles: true }));
		});
	}
	// A column goes where the cursor is in the text of a campaign.
	document.addEventListener("click", (e) => {
		const chip = e.target.closest("button[data-put]");
		if (!chip) return;
		e.preventDefault();
		const { text, template } = chip.form.elements;
		text.setRangeText(chip.dataset.put, text.selectionStart, text.selectionEnd, "end");
		if (template) template.value = "";
		text.focus();
		text.dispatchEvent(new Event("input", { bubbles: true }));
	});
	// The field at the top leads to pages and things as one types: arrows go through what was found, Escape puts it away.
	const field = document.querySelector(".seek input"), goals = document.getElementById("goals");
	if (field) {
		const away = (e) => { if (!e.target.closest?.(".seek")) goals.replaceChildren(); };
		document.addEventListener("click", away);
		document.addEventListener("focusin", away);
		goals.addEventListener("htmx:afterSwap", () => { if (!document.activeElement.closest(".seek")) goals.replaceChildren(); });
		document.addEventListener("keydown", (e) => {
			if ((e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === "k") {
				e.preventDefault();
				field.focus();
				field.select();
				htmx.trigger(field, "goto");
			}
			if (!e.target.closest?.(".seek")) return;
			const step = { ArrowDown: 1, ArrowUp: -1 }[e.key], list = [field, ...goals.querySelectorAll("a")];
			if (step && list.length > 1) {
				e.preventDefault();
				list.at((list.indexOf(document.activeElement) + step) % list.length).focus();
			}
			if (e.key === "Escape") {
				field.focus();
				goals.replaceChildren();
			}
		});
	}
	// Windows and lengths of time are a number and a unit; the field keeps the text that the server reads. What is written in another way stays a
	// text.
	const units = document.getElementById("units");
	const made = (tag, more) => Object.assign(document.createElement(tag), more);
	const number = (value, label) => made("input", { type: "number", min: 1, step: 1, value: value ?? "", ariaLabel: label });
	const unitOf = (unit) => {
		const list = made("select", { ariaLabel: units.dataset.unit });
		list.append(units.content.cloneNode(true));
		list.value = unit;
		return list;
	};
	const labelled = (field, first) => { // the label leads to what is seen
		first.id = (field.id || field.name) + "-number";
		for (const label of field.labels ?? []) if (label.htmlFor) label.htmlFor = first.id;
		first.required = field.required;
		if (field.ariaInvalid) first.ariaInvalid = field.ariaInvalid;
		if (field.hasAttribute("aria-describedby")) first.setAttribute("aria-describedby", field.getAttribute("aria-describedby"));
		if (field.autofocus) first.focus();
		field.required = false;
		field.hidden = true;
	};
	for (const field of units ? document.querySelectorAll("input[data-lasting]") : []) {
		const is = /^(?:(\d+)([smhd]))?$/.exec(field.value.trim());
		if (!is || field.disabled) continue;
		const n = number(is[1], field.ariaLabel), unit = unitOf(is[2] ?? (/\d([smhd])$/.exec(field.placeholder) ?? [, "m"])[1]);
		const both = made("span", { className: "lasting" });
		n.min = 0; // what means at once, or never
		both.append(n, unit);
		field.before(both);
		let help = field;
		while (help && help.tagName !== "SMALL") help = help.nextElementSibling;
		help?.querySelector(".typed")?.remove(); // how it is typed
		if (field.placeholder) n.placeholder = field.placeholder.replace(/[a-z]+$/, "");
		both.addEventListener("input", () => { field.value = n.value && n.value + unit.value; });
		labelled(field, n);
	}
	for (const field of units ? document.querySelectorAll("textarea[data-windows]") : []) {
		const lines = field.value.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => /^(\d+)\/(\d+)([smhd])$/.exec(line));
		if (lines.includes(null) || field.disabled) continue;
		const all = made("div", { className: "windows" });
		const put = () => { // half a window stays to be filled in, and goes nowhere without a word
			for (const row of all.querySelectorAll(".lasting")) {
				const [most, n] = row.querySelectorAll("input");
				most.required = n.required = Boolean(most.value);
			}
			field.value = [...all.querySelectorAll(".lasting")].map((row) => [...row.querySelectorAll("input, select")].map((one) => one.value))
				.filter(([most]) => most).map(([most, n, unit]) => most + "/" + n + unit).join("\n");
		};
		const row = ([, most, n, unit] = [, "", 1, "s"]) => {
			const line = made("span", { className: "lasting" });
			const drop = made("button", { type: "button", className: "link", textContent: "×", ariaLabel: units.dataset.drop });
			drop.addEventListener("click", () => { line.remove(); put(); });
			line.append(number(most, units.dataset.most), units.dataset.each, number(n, units.dataset.each), unitOf(unit), drop);
			return line;
		};
		const add = made("button", { type: "button", className: "link", textContent: "+ " + units.dataset.add });
		add.addEventListener("click", () => add.before(row()));
		all.append(...(lines.length ? lines : [undefined]).map((line) => row(line)), add);
		all.addEventListener("input", put);
		field.before(all);
		labelled(field, all.querySelector("input"));
	}
}
