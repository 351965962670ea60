// Says when the server does not answer what a page asks for by itself, leads to the search by a key, and ticks all of a list at once.
"use strict";
{
	const stale = document.getElementById("stale");
	document.addEventListener("htmx:sendError", () => { stale.hidden = false; });
	document.addEventListener("htmx:afterOnLoad", () => { stale.hidden = true; });
	for (const all of document.querySelectorAll("input[data-all]")) {
		const each = () => [...all.form.elements].filter((e) => e.name === all.dataset.all);
		all.hidden = false;
		all.addEventListener("change", () => { for (const e of each()) e.checked = all.checked; });
		all.form.addEventListener("change", (e) => {
			if (e.target.name === all.dataset.all) all.checked = each().every((one) => one.checked);
		});
	}
	document.addEventListener("keydown", (e) => {
		const field = document.querySelector(".seek input");
		if (field && (e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === "k") {
			e.preventDefault();
			field.focus();
			field.select();
		}
	});
}
