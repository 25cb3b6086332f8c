"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const grouped = (value) => value.toLocaleString("en-US");

  // Numbers with units.
  const short = (value) => {
    if (value < 10000) return grouped(Math.round(value));
    const units = ["k", "M", "G", "T", "P"];
    let unit = -1;
    while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit++; }
    return value.toFixed(value < 10 ? 1 : 0) + units[unit];
  };
  const bytes = (value) => {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
    return value.toFixed(unit === 0 || value >= 100 || value % 1 === 0 ? 0 : 1) + " " + units[unit];
  };
  const quantity = (value, unit) => (unit === "bytes" ? bytes(value) : grouped(value) + " " + unit);
  const duration = (ns) => {
    const units = ["ns", "\u00b5s", "ms", "s"];
    let unit = 0;
    while (ns >= 1000 && unit < units.length - 1) { ns /= 1000; unit++; }
    return +ns.toPrecision(4) + " " + units[unit];
  };
  const rankName = (first, last) => (first === last ? "rank " + first : "ranks " + first + "-" + last);

  // Elements.
  const svg = (name, attributes, parent) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (parent) parent.append(element);
    return element;
  };
  const element = (name, text, parent) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };
  const tip = byId("tip");
  const showTip = (event, text) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    const left = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
    const top = event.clientY + 14 + box.height > innerHeight ? event.clientY - 14 - box.height : event.clientY + 14;
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = Math.max(0, top) + "px";
  };
  document.addEventListener("mousemove", (event) => {
    const marked = event.target.closest && event.target.closest("[data-tip]");
    if (marked) showTip(event, marked.dataset.tip);
    else if (event.target.tagName !== "CANVAS") showTip(event, "");
  });
  const context = (canvas, width, height) => {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    const drawing = canvas.getContext("2d");
    drawing.scale(ratio, ratio);
    drawing.clearRect(0, 0, width, height);
    drawing.font = "11px system-ui, sans-serif";
    return drawing;
  };

  // Colour scales. A value of 0 has the colour of the page.
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const scale = (name, largest, isLog) => {
    const stops = ["low", "middle", "high"].map((stop) => rgb(colour(name + "-" + stop)));
    const share = (value) => (isLog ? Math.log1p(value) / Math.log1p(largest) : value / largest);
    const mixed = (value) => {
      const at = 2 * Math.min(1, share(value));
      const [from, to] = at < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
      const part = at < 1 ? at : at - 1;
      return from.map((channel, index) => Math.round(channel + part * (to[index] - channel)));
    };
    return {
      share: (value) => (largest > 0 ? share(value) : 0),
      fill: (value) => (value > 0 ? "rgb(" + mixed(value).join(",") + ")" : colour("page")),
      text: (value) => {
        if (!(value > 0)) return colour("muted");
        const [r, g, b] = mixed(value);
        return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111111" : "#ffffff";
      },
      legend: (parent, label, unit) => {
        const line = element("span", label + ": 0", parent);
        const bar = element("i", "", line);
        bar.className = "scale";
        const values = [0.001, 0.25, 0.5, 0.75, 1].map((part) =>
          (isLog ? Math.expm1(part * Math.log1p(largest)) : part * largest));
        bar.style.background = largest > 0
          ? "linear-gradient(to right," + values.map((value) => "rgb(" + mixed(value).join(",") + ")") + ")"
          : colour("page");
        line.append(quantity(largest, unit) + (isLog ? " (logarithmic)" : ""));
      },
    };
  };

  // Torus.
  const DIRECTIONS = ["X+", "X-", "Y+", "Y-", "Z+", "Z-"];
  const torus = data.torus;
  const sliceSelect = byId("torus-slice");
  const setUpTorus = () => {
    const depth = torus.extents[2];
    const showsAll = torus.nodes.length <= 512 && depth > 1;
    if (showsAll) element("option", "all", sliceSelect).value = "all";
    for (let z = 0; z < depth; z++) element("option", "Z = " + z, sliceSelect).value = z;
    for (const id of ["torus-value", "torus-slice", "torus-log"]) byId(id).addEventListener("change", drawTorus);
  };
  const drawTorus = () => {
    const measure = byId("torus-value").value;
    const isLog = byId("torus-log").checked;
    const largest = Math.max(...torus.nodes.map((node) => node[measure]));
    const busiest = Math.max(...torus.nodes.map((node) => Math.max(...node.links.map((packets) => packets || 0))));
    const nodes = scale("node", largest, isLog);
    const links = scale("link", busiest, isLog);
    const maps = byId("torus-maps");
    maps.replaceChildren();
    const chosen = sliceSelect.value;
    for (let z = 0; z < torus.extents[2]; z++) {
      if (chosen !== "all" && +chosen !== z) continue;
      const figure = element("figure", "", maps);
      drawSlice(figure, z, measure, nodes, links);
      element("figcaption", "Z = " + z, figure);
    }
    const legend = byId("torus-legend");
    legend.replaceChildren();
    const unit = measure === "rejected" ? "messages" : "packets";
    nodes.legend(legend, "nodes, " + byId("torus-value").selectedOptions[0].textContent, unit);
    links.legend(legend, "links, packets sent", "packets");
  };
  const drawSlice = (figure, z, measure, nodes, links) => {
    const [columns, rows] = torus.extents;
    const shown = sliceSelect.value === "all" ? Math.min(4, torus.extents[2]) : 1;
    const across = byId("torus-maps").clientWidth / shown - 20;
    const step = Math.max(26, Math.min(110, Math.floor(across / (columns + 0.2))));
    const half = step * 0.25;
    const picture = svg("svg", { width: (columns + 0.2) * step, height: (rows + 0.2) * step, role: "img" }, figure);
    picture.setAttribute("aria-label", "Slice Z = " + z);
    const width = (packets) => 1.5 + links.share(packets) * Math.min(7, step * 0.1);
    for (const node of torus.nodes.filter((one) => one.at[2] === z)) {
      const x = (node.at[0] + 0.6) * step;
      const y = (node.at[1] + 0.6) * step;
      node.links.forEach((packets, direction) => {
        if (packets === null) return;
        const label = "rank " + node.rank + ", link " + DIRECTIONS[direction] + "\n" + grouped(packets) + " packets sent";
        const sign = direction % 2 === 0 ? 1 : -1;
        const paint = packets > 0 ? links.fill(packets) : colour("line");
        if (direction < 4) {
          const [dx, dy] = direction < 2 ? [sign, 0] : [0, sign];
          const isBorder = direction < 2
            ? node.at[0] === (sign > 0 ? columns - 1 : 0)
            : node.at[1] === (sign > 0 ? rows - 1 : 0);
          const end = isBorder ? 0.46 : 0.5;
          svg("line", { x1: x + dx * half, y1: y + dy * half, x2: x + dx * step * end, y2: y + dy * step * end,
            stroke: paint, "stroke-width": width(packets), "data-tip": label }, picture);
        } else {
          const side = half * 0.62;
          const [cx, cy] = [x + half + side * 0.9, y - sign * (half + side * 0.55)];
          svg("polygon", { points: [[cx - side / 2, cy + sign * side / 2], [cx + side / 2, cy + sign * side / 2],
            [cx, cy - sign * side / 2]].join(" "), fill: paint, "data-tip": label }, picture);
        }
      });
      const value = node[measure];
      svg("rect", { x: x - half, y: y - half, width: 2 * half, height: 2 * half, rx: 3, fill: nodes.fill(value),
        stroke: colour("line"), "data-tip": "rank " + node.rank + " at (" + node.at.join(",") + ")\n"
          + grouped(node.sent) + " packets sent\n" + grouped(node.forwarded) + " forwarded\n" + grouped(node.received)
          + " received\n" + grouped(node.rejected) + " messages rejected" }, picture);
      if (step >= 34) {
        const text = svg("text", { x, y: y + 4, "text-anchor": "middle", style: "fill:" + nodes.text(value)
          + ";pointer-events:none" }, picture);
        text.textContent = node.rank;
      }
    }
  };

  // Communication matrix.
  const MATRIX_PIXELS = 560;
  const MATRIX_MARGIN = 46;
  const matrix = data.matrix;
  const bins = Math.ceil(matrix.ranks / matrix.ranks_per_bin);
  const cellPixels = Math.max(2, Math.min(44, Math.floor(MATRIX_PIXELS / bins)));
  const cells = new Map(matrix.cells.map((cell) => [cell.source * bins + cell.destination, cell]));
  const binName = (bin) => {
    const first = bin * matrix.ranks_per_bin;
    return rankName(first, Math.min(first + matrix.ranks_per_bin, matrix.ranks) - 1);
  };
  const drawMatrix = () => {
    const measure = byId("matrix-value").value;
    const largest = Math.max(0, ...matrix.cells.map((cell) => cell[measure]));
    const colours = scale("node", largest, byId("matrix-log").checked);
    const size = bins * cellPixels;
    const drawing = context(byId("matrix-canvas"), size + MATRIX_MARGIN + 12, size + MATRIX_MARGIN + 12);
    drawing.fillStyle = colour("page");
    drawing.fillRect(MATRIX_MARGIN, MATRIX_MARGIN, size, size);
    const gap = cellPixels >= 8 ? 1 : 0;
    for (const cell of matrix.cells) {
      const x = MATRIX_MARGIN + cell.destination * cellPixels;
      const y = MATRIX_MARGIN + cell.source * cellPixels;
      drawing.fillStyle = colours.fill(cell[measure]);
      drawing.fillRect(x, y, cellPixels - gap, cellPixels - gap);
      if (cellPixels >= 36) {
        drawing.fillStyle = colours.text(cell[measure]);
        drawing.textAlign = "center";
        drawing.fillText(short(cell[measure]), x + cellPixels / 2, y + cellPixels / 2 + 4);
      }
    }
    drawing.strokeStyle = colour("line");
    drawing.strokeRect(MATRIX_MARGIN - 0.5, MATRIX_MARGIN - 0.5, size + 1, size + 1);
    drawMatrixAxes(drawing, size);
    const legend = byId("matrix-legend");
    legend.replaceChildren();
    colours.legend(legend, measure, measure);
  };
  const drawMatrixAxes = (drawing, size) => {
    drawing.fillStyle = colour("muted");
    const every = [1, 2, 4, 8, 16, 32, 64].find((count) => count * cellPixels >= 26) || 64;
    for (let bin = 0; bin < bins; bin += every) {
      const at = MATRIX_MARGIN + (bin + 0.5) * cellPixels;
      drawing.textAlign = "center";
      drawing.fillText(bin * matrix.ranks_per_bin, at, MATRIX_MARGIN - 6);
      drawing.textAlign = "right";
      drawing.fillText(bin * matrix.ranks_per_bin, MATRIX_MARGIN - 6, at + 4);
    }
    drawing.textAlign = "left";
    drawing.fillText("destination", MATRIX_MARGIN, 12);
    drawing.save();
    drawing.translate(11, MATRIX_MARGIN + size);
    drawing.rotate(-Math.PI / 2);
    drawing.fillText("source", 0, 0);
    drawing.restore();
  };
  const setUpMatrix = () => {
    if (matrix.cells.every((cell) => cell.bytes === 0)) byId("matrix-value").value = "messages";
    const canvas = byId("matrix-canvas");
    canvas.addEventListener("mousemove", (event) => {
      const destination = Math.floor((event.offsetX - MATRIX_MARGIN) / cellPixels);
      const source = Math.floor((event.offsetY - MATRIX_MARGIN) / cellPixels);
      const isInside = source >= 0 && destination >= 0 && source < bins && destination < bins;
      const cell = isInside && cells.get(source * bins + destination);
      showTip(event, isInside ? binName(source) + " to " + binName(destination) + "\n"
        + (cell ? grouped(cell.messages) + " messages\n" + grouped(cell.bytes) + " bytes" : "no messages") : "");
    });
    canvas.addEventListener("mouseleave", (event) => showTip(event, ""));
    byId("matrix-value").addEventListener("change", drawMatrix);
    byId("matrix-log").addEventListener("change", drawMatrix);
  };

  // Time line.
  const TIMELINE_LEFT = 74;
  const BAR_PIXELS = 150;
  const BAR_GAP = 12;
  const AXIS_PIXELS = 22;
  const SHORTEST_VIEW = 100;
  const MAX_ARROWS = 600;
  const FULL_SHARE = 255;
  const FIELDS = 8;
  const timeline = data.timeline;
  const classCount = data.classes.length;
  const rowPixels = Math.max(2, Math.min(24, Math.floor(560 / Math.max(1, timeline.rows.length))));
  const rowGap = rowPixels > 6 ? 2 : rowPixels > 3 ? 1 : 0;
  const view = { from: 0, to: Math.max(1, timeline.duration) };
  const rowOfRank = (rank) => timeline.rows.findIndex((row) => row.first <= rank && rank <= row.last);
  // Begin of each call since the begin of the job.
  const begins = (timeline.calls.each || []).map((row) => {
    let time = 0;
    const list = new Float64Array(row.length / FIELDS);
    for (let call = 0; call < list.length; call++) list[call] = time += row[call * FIELDS];
    return list;
  });
  const callEnd = (row, call) => {
    const length = timeline.calls.each[row][call * FIELDS + 1];
    return length < 0 ? timeline.duration : begins[row][call] + length;
  };
  const plotWidth = () => Math.max(200, byId("timeline-scroll").clientWidth - TIMELINE_LEFT - BAR_PIXELS - BAR_GAP - 16);
  const drawTimeline = () => {
    const width = plotWidth();
    const height = timeline.rows.length * rowPixels;
    const drawing = context(byId("timeline-canvas"), TIMELINE_LEFT + width + BAR_GAP + BAR_PIXELS, height + AXIS_PIXELS);
    const colours = data.classes.map((one) => colour(one.key));
    drawing.save();
    drawing.beginPath();
    drawing.rect(TIMELINE_LEFT, 0, width, height + AXIS_PIXELS);
    drawing.clip();
    drawing.fillStyle = colour("outside");
    timeline.rows.forEach((_, row) => drawing.fillRect(TIMELINE_LEFT, row * rowPixels, width, rowPixels - rowGap));
    const drawRow = timeline.calls.each ? drawCalls : drawShares;
    timeline.rows.forEach((_, row) => drawRow(drawing, row, width, rowPixels - rowGap, colours));
    drawArrows(drawing, width);
    drawTimeAxis(drawing, width, height);
    drawing.restore();
    drawRowNames(drawing, width, rowPixels - rowGap, colours);
  };
  // Draws the shares of the classes in a column of a pixel, from the lower border of the row.
  const drawColumns = (drawing, top, height, covered, colours) => {
    for (let x = 0; x < covered.length / classCount; x++) {
      let bottom = top + height;
      for (let kind = 0; kind < classCount; kind++) {
        const part = Math.min(1, covered[x * classCount + kind]) * height;
        if (part > 0) {
          const shown = Math.max(part, Math.min(1, bottom - top));
          drawing.fillStyle = colours[kind];
          drawing.fillRect(TIMELINE_LEFT + x, bottom - shown, 1, shown);
          bottom -= shown;
        }
      }
    }
  };
  const drawCalls = (drawing, row, width, height, colours) => {
    const calls = timeline.calls.each[row];
    const covered = new Float64Array(width * classCount);
    const scaling = width / (view.to - view.from);
    const top = row * rowPixels;
    for (let call = 0; call < begins[row].length; call++) {
      const end = callEnd(row, call);
      if (end < view.from || begins[row][call] > view.to) continue;
      const from = (begins[row][call] - view.from) * scaling;
      const to = (end - view.from) * scaling;
      const kind = timeline.functions[calls[call * FIELDS + 2]].class;
      if (to - from >= 2) {
        const left = Math.max(0, from);
        drawing.fillStyle = colours[kind];
        drawing.fillRect(TIMELINE_LEFT + left, top, Math.min(width, to) - left - (to - from >= 4 ? 0.5 : 0), height);
      } else {
        const x = Math.max(0, Math.min(width - 1, Math.floor(from)));
        covered[x * classCount + kind] += Math.max(0.01, to - from);
      }
    }
    drawColumns(drawing, top, height, covered, colours);
  };
  const drawShares = (drawing, row, width, height, colours) => {
    const shares = timeline.calls.shares[row];
    const columns = shares.length / classCount;
    const covered = new Float64Array(width * classCount);
    for (let x = 0; x < width; x++) {
      const at = (time) => time / timeline.duration * columns;
      const from = Math.floor(at(view.from + x / width * (view.to - view.from)));
      const to = Math.max(from + 1, Math.floor(at(view.from + (x + 1) / width * (view.to - view.from))));
      for (let column = from; column < Math.min(to, columns); column++)
        for (let kind = 0; kind < classCount; kind++)
          covered[x * classCount + kind] += shares[column * classCount + kind] / FULL_SHARE / (to - from);
    }
    drawColumns(drawing, row * rowPixels, height, covered, colours);
  };
  const drawArrows = (drawing, width) => {
    byId("timeline-note").textContent = "";
    if (!byId("timeline-messages").checked) return;
    const visible = timeline.messages.filter((one) => one[3] >= view.from && one[1] <= view.to);
    if (visible.length > MAX_ARROWS)
      byId("timeline-note").textContent = "the first " + MAX_ARROWS + " of " + grouped(visible.length)
        + " messages; zoom in for others";
    const x = (time) => TIMELINE_LEFT + (time - view.from) / (view.to - view.from) * width;
    const y = (rank) => (rowOfRank(rank) + 0.45) * rowPixels;
    drawing.strokeStyle = colour("text");
    drawing.fillStyle = colour("text");
    drawing.globalAlpha = 0.6;
    for (const [source, sent, destination, received] of visible.slice(0, MAX_ARROWS)) {
      drawing.beginPath();
      drawing.moveTo(x(sent), y(source));
      drawing.lineTo(x(received), y(destination));
      drawing.stroke();
      drawing.fillRect(x(received) - 2, y(destination) - 2, 4, 4);
    }
    drawing.globalAlpha = 1;
  };
  const drawTimeAxis = (drawing, width, height) => {
    const power = Math.pow(10, Math.floor(Math.log10((view.to - view.from) / (width / 110))));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => (view.to - view.from) / one <= width / 110);
    drawing.fillStyle = colour("muted");
    for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
      const x = TIMELINE_LEFT + (time - view.from) / (view.to - view.from) * width;
      drawing.fillRect(x, height, 1, 4);
      drawing.textAlign = x < TIMELINE_LEFT + 20 ? "left" : "center";
      if (x < TIMELINE_LEFT + width - 26) drawing.fillText(duration(+time.toPrecision(6)), x, height + 16);
    }
  };
  const drawRowNames = (drawing, width, height, colours) => {
    const every = Math.ceil(13 / rowPixels);
    const parts = [...colours, colour("outside")];
    timeline.rows.forEach((row, index) => {
      const top = index * rowPixels;
      drawing.fillStyle = colour("muted");
      drawing.textAlign = "right";
      if (index % every === 0) {
        drawing.fillText(rankName(row.first, row.last).replace("ranks ", ""), TIMELINE_LEFT - 6,
          top + Math.max(9, height / 2 + 4));
      }
      const total = row.times.reduce((sum, time) => sum + time, 0) || 1;
      let left = TIMELINE_LEFT + width + BAR_GAP;
      row.times.forEach((time, kind) => {
        drawing.fillStyle = parts[kind];
        drawing.fillRect(left, top, time / total * BAR_PIXELS, height);
        left += time / total * BAR_PIXELS;
      });
    });
    drawing.fillStyle = colour("muted");
    drawing.textAlign = "left";
    drawing.fillText("share of time", TIMELINE_LEFT + width + BAR_GAP, timeline.rows.length * rowPixels + 16);
  };
  const describeBar = (row) => {
    const total = row.times.reduce((sum, time) => sum + time, 0) || 1;
    const names = [...data.classes.map((one) => one.label), "outside of MPI"];
    const lines = row.times.map((time, kind) =>
      names[kind] + ": " + duration(time) + " (" + (100 * time / total).toFixed(1) + " %)");
    return [rankName(row.first, row.last), ...lines].join("\n");
  };
  const describeCall = (row, call) => {
    const fields = timeline.calls.each[row].slice(call * FIELDS, (call + 1) * FIELDS);
    const [, length, name, location, peer, tag, sent, received] = fields;
    const lines = [timeline.functions[name].name + ", rank " + row, "begin " + duration(begins[row][call])
      + (length < 0 ? ", has not returned" : ", takes " + duration(length))];
    if (peer >= 0) lines.push("peer: rank " + peer + (tag >= 0 ? ", tag " + tag : ""));
    if (sent > 0) lines.push("sends " + bytes(sent));
    if (received > 0) lines.push("receives " + bytes(received));
    if (location > 0) lines.push("called from " + timeline.locations[location]);
    return lines.join("\n");
  };
  const nearestCall = (row, time) => {
    const list = begins[row];
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] <= time) low = middle + 1; else high = middle;
    }
    return low - 1;
  };
  const describeColumn = (row, time) => {
    const shares = timeline.calls.shares[row];
    const columns = shares.length / classCount;
    const column = Math.min(columns - 1, Math.floor(time / timeline.duration * columns));
    const lines = data.classes.map((one, kind) =>
      one.label + ": " + (100 * shares[column * classCount + kind] / FULL_SHARE).toFixed(0) + " %");
    return [rankName(timeline.rows[row].first, timeline.rows[row].last) + " at " + duration(Math.round(time)), ...lines]
      .join("\n");
  };
  const describeTime = (event) => {
    const row = Math.floor(event.offsetY / rowPixels);
    const x = event.offsetX - TIMELINE_LEFT;
    const width = plotWidth();
    if (row < 0 || row >= timeline.rows.length || x < 0) return "";
    if (x > width) return x >= width + BAR_GAP ? describeBar(timeline.rows[row]) : "";
    const time = view.from + x / width * (view.to - view.from);
    if (!timeline.calls.each) return describeColumn(row, time);
    // A short call can be reached from the pixel next to it.
    const pixel = (view.to - view.from) / width;
    const call = nearestCall(row, time + pixel);
    if (call < 0 || callEnd(row, call) < time - pixel) return "rank " + row + " at " + duration(Math.round(time))
      + "\noutside of MPI";
    return describeCall(row, call);
  };
  const zoom = (factor, centre) => {
    const length = Math.min(timeline.duration, Math.max(SHORTEST_VIEW, (view.to - view.from) * factor));
    const share = (centre - view.from) / (view.to - view.from);
    move(centre - share * length, length);
  };
  const move = (from, length) => {
    view.from = Math.max(0, Math.min(from, timeline.duration - length));
    view.to = Math.max(view.from + 1, view.from + length);
    drawTimeline();
  };
  const setUpTimeline = () => {
    const canvas = byId("timeline-canvas");
    const legend = byId("timeline-legend");
    for (const { key, label } of [...data.classes, { key: "", label: "outside of MPI" }]) {
      const line = element("span", "", legend);
      element("i", "", line).className = "key " + key;
      line.append(label);
    }
    const middle = () => (view.from + view.to) / 2;
    byId("zoom-in").addEventListener("click", () => zoom(0.5, middle()));
    byId("zoom-out").addEventListener("click", () => zoom(2, middle()));
    byId("zoom-all").addEventListener("click", () => move(0, timeline.duration));
    canvas.addEventListener("dblclick", () => move(0, timeline.duration));
    byId("timeline-messages").addEventListener("change", drawTimeline);
    byId("timeline-messages").disabled = timeline.messages.length === 0;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const x = Math.max(0, Math.min(1, (event.offsetX - TIMELINE_LEFT) / plotWidth()));
      zoom(event.deltaY > 0 ? 1.25 : 0.8, view.from + x * (view.to - view.from));
    }, { passive: false });
    let drag = null;
    canvas.addEventListener("mousedown", (event) => {
      // Otherwise the browser selects text.
      event.preventDefault();
      drag = { x: event.clientX, from: view.from };
    });
    addEventListener("mouseup", () => { drag = null; });
    canvas.addEventListener("mousemove", (event) => {
      const length = view.to - view.from;
      if (drag) move(drag.from - (event.clientX - drag.x) / plotWidth() * length, length);
      showTip(event, drag ? "" : describeTime(event));
    });
    canvas.addEventListener("mouseleave", (event) => showTip(event, ""));
  };

  // Charts of the memory.
  const CHART = { width: 380, height: 150, left: 68, right: 8, top: 8, bottom: 22 };
  const drawMemory = () => {
    const parent = byId("memory-charts");
    parent.replaceChildren();
    for (const chart of data.memory.charts) drawChart(parent, chart);
  };
  const drawChart = (parent, chart) => {
    const figure = element("figure", "", parent);
    element("figcaption", chart.title + (chart.unit === "bytes" ? "" : ", " + chart.unit) + " (" + chart.total + ")",
      figure);
    const picture = svg("svg", { viewBox: "0 0 " + CHART.width + " " + CHART.height, width: CHART.width,
      height: CHART.height, role: "img", "aria-label": chart.title }, figure);
    const peak = Math.max(...chart.lines.flatMap((line) => line.steps.map((step) => step[1])));
    const largest = Math.max(1, peak);
    const [inner, tall] = [CHART.width - CHART.left - CHART.right, CHART.height - CHART.top - CHART.bottom];
    const x = (sample) => CHART.left + sample / data.memory.samples * inner;
    const y = (value) => CHART.top + (1 - value / largest) * tall;
    const hasMiddle = peak >= 100 || peak % 2 === 0;
    for (const value of peak === 0 ? [0] : hasMiddle ? [0, peak / 2, peak] : [0, peak]) {
      svg("line", { x1: CHART.left, x2: CHART.width - CHART.right, y1: y(value), y2: y(value), stroke: colour("line") },
        picture);
      svg("text", { x: CHART.left - 5, y: y(value) + 4, "text-anchor": "end" }, picture).textContent =
        chart.unit === "bytes" ? bytes(value) : short(value);
    }
    svg("text", { x: CHART.left, y: CHART.height - 5 }, picture).textContent = "0";
    svg("text", { x: CHART.width - CHART.right, y: CHART.height - 5, "text-anchor": "end" }, picture).textContent =
      duration(timeline.duration);
    if (peak === 0) {
      svg("text", { x: CHART.left + inner / 2, y: CHART.top + tall / 2, "text-anchor": "middle" }, picture).textContent =
        chart.zero;
    }
    // The thick line of all ranks is the last one: on top of those of the single ranks.
    for (const line of [...chart.lines.slice(1), chart.lines[0]]) {
      const path = line.steps.map(([sample, value], at) => (at ? "H" + x(sample).toFixed(1) + "V" : "M" + x(0) + ",")
        + y(value).toFixed(1)).join("") + "H" + x(data.memory.samples);
      svg("path", { d: path, fill: "none", stroke: colour(line.rank === null ? "point" : "muted"),
        "stroke-width": line.rank === null ? 2.5 : 1, "stroke-opacity": line.rank === null ? 1 : 0.5 }, picture);
    }
    addChartHover(picture, chart);
  };
  const addChartHover = (picture, chart) => {
    const inner = CHART.width - CHART.left - CHART.right;
    const marker = svg("line", { y1: CHART.top, y2: CHART.height - CHART.bottom, stroke: colour("muted"),
      "stroke-dasharray": "2 2", visibility: "hidden" }, picture);
    const valueAt = (line, sample) => line.steps.reduce((value, step) => (step[0] <= sample ? step[1] : value), 0);
    const area = svg("rect", { x: CHART.left, y: CHART.top, width: inner, height: CHART.height - CHART.top
      - CHART.bottom, fill: "transparent", "data-tip": "" }, picture);
    area.addEventListener("mousemove", (event) => {
      const box = area.getBoundingClientRect();
      const share = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
      const sample = Math.min(data.memory.samples - 1, Math.floor(share * data.memory.samples));
      const [all, ...single] = chart.lines;
      const values = single.map((line) => ({ rank: line.rank, value: valueAt(line, sample) }))
        .sort((one, other) => other.value - one.value).filter((one) => one.value > 0).slice(0, 5);
      area.dataset.tip = ["at " + duration(Math.round(share * timeline.duration)),
        chart.total + ": " + quantity(valueAt(all, sample), chart.unit),
        ...values.map((one) => "rank " + one.rank + ": " + quantity(one.value, chart.unit))].join("\n");
      const x = CHART.left + share * inner;
      for (const [name, value] of [["x1", x], ["x2", x], ["visibility", "visible"]]) marker.setAttribute(name, value);
    });
    area.addEventListener("mouseleave", () => marker.setAttribute("visibility", "hidden"));
  };

  // Sorting of tables.
  const setUpTable = (table) => {
    const headings = [...table.querySelectorAll("th")];
    headings.forEach((heading, column) => heading.addEventListener("click", () => {
      const isText = !table.tBodies[0].rows[0]?.cells[column].dataset.value;
      const before = heading.getAttribute("aria-sort");
      const isDescending = before ? before === "ascending" : !isText;
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      const key = (row) => (isText ? row.cells[column].textContent : +row.cells[column].dataset.value);
      const compare = (one, other) => (isText ? key(one).localeCompare(key(other), "en", { numeric: true })
        : key(one) - key(other));
      const rows = [...table.tBodies[0].rows].sort((one, other) => (isDescending ? -1 : 1) * compare(one, other));
      table.tBodies[0].append(...rows);
    }));
  };

  const draw = () => {
    if (torus) drawTorus();
    if (byId("matrix-canvas")) drawMatrix();
    if (timeline.rows.length) drawTimeline();
    if (byId("memory-charts")) drawMemory();
  };
  if (torus) setUpTorus();
  if (byId("matrix-canvas")) setUpMatrix();
  if (timeline.rows.length) setUpTimeline();
  document.querySelectorAll(".sortable").forEach(setUpTable);
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("resize", () => { if (timeline.rows.length) drawTimeline(); });
})();
