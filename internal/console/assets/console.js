// Says when the server does not answer what a page asks for by itself, leads to the search by a key, copies ids, and ticks all of a list at
// once.
"use strict";
{
	const stale = document.getElementById("stale");
	// A server that is gone refuses, or does not end its answer, or a proxy before it answers with an error. Our own error says so in its own place.
	const bad = (xhr) => xhr.status >= 500 && !xhr.getResponseHeader("HX-Retarget");
	document.addEventListener("htmx:configRequest", (e) => { if (e.detail.verb === "get") e.detail.timeout = 8000; });
	for (const gone of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(gone, () => { stale.hidden = false; });
	document.addEventListener("htmx:beforeSwap", (e) => { if (bad(e.detail.xhr)) e.detail.shouldSwap = false; });
	document.addEventListener("htmx:afterOnLoad", (e) => { stale.hidden = !bad(e.detail.xhr); });
	// A list that refreshes itself waits while somebody fills in a form in it.
	document.addEventListener("htmx:beforeRequest", (e) => { if (e.target.querySelector("details.pop[open]")) e.preventDefault(); });
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
	for (const all of document.querySelectorAll("input[data-all]")) {
		const each = () => [...all.form.elements].filter((e) => e.name === all.dataset.all);
		all.hidden = false;
		all.addEventListener("change", () => { for (const e of each()) e.checked = all.checked; });
		all.form.addEventListener("change", (e) => {
			if (e.target.name === all.dataset.all) all.checked = each().every((one) => one.checked);
		});
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
	document.addEventListener("keydown", (e) => {
		const field = document.querySelector(".seek input");
		if (field && (e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === "k") {
			e.preventDefault();
			field.focus();
			field.select();
		}
	});
}
