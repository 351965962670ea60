// Draws the tables that ask for it as charts: table[data-chart] has a time in its first column and a number in each column
// whose head has a data-tone. Without JavaScript the table alone is there. What htmx swaps in is drawn again.
"use strict";
(() => {
  const drawn = new Map();

  const draw = (table) => {
    const box = document.createElement("div");
    box.className = "chart";
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", table.dataset.chart);
    table.closest("[data-charted]").before(box);
    const style = getComputedStyle(document.documentElement);
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies[0].rows];
    const columns = heads.map((head, i) => ({ head, i })).filter((c) => c.head.dataset.tone);
    const data = [rows.map((r) => Date.parse(r.querySelector("time").dateTime) / 1000)];
    const series = [{ label: heads[0].textContent }];
    for (const c of columns) {
      const tone = style.getPropertyValue("--" + c.head.dataset.tone).trim();
      data.push(rows.map((r) => Number(r.cells[c.i].textContent)));
      series.push({ label: c.head.textContent, stroke: tone, width: 2, points: { show: false } });
    }
    const ink = style.getPropertyValue("--calm").trim();
    const axis = { stroke: ink, grid: { stroke: ink + "33", width: 1 }, ticks: { show: false } };
    const zone = table.dataset.zone;
    const dated = (at) => uPlot.tzDate(new Date(at * 1000), zone);
    const plot = new uPlot({
      width: box.clientWidth, height: 220, series, tzDate: dated,
      axes: [{ ...axis, values: (u, ticks, i, space, step) => clock(dated, ticks, step) }, { ...axis, size: 60 }], scales: { y: { range: (u, min, max) => [0, Math.max(max, 1) * 1.05] } },
    }, data, box);
    drawn.set(box, plot);
  };

  // clock says a day where the ticks are days, and a time of day otherwise.
  const clock = (dated, ticks, step) => ticks.map((at) => {
    const d = dated(at), two = (n) => String(n).padStart(2, "0");
    const day = two(d.getMonth() + 1) + "-" + two(d.getDate());
    return step >= 86400 ? day : (d.getHours() === 0 && d.getMinutes() === 0 ? day : two(d.getHours()) + ":" + two(d.getMinutes()));
  });

  const drawAll = (root) => {
    for (const [box, plot] of drawn) {
      if (!box.isConnected) {
        plot.destroy();
        drawn.delete(box);
      }
    }
    root.querySelectorAll("table[data-chart]").forEach(draw);
  };

  addEventListener("resize", () => drawn.forEach((plot, box) => plot.setSize({ width: box.clientWidth, height: 220 })));
  htmx.onLoad(drawAll);
})();
