-- Dissector of Midplane's torus links for Wireshark and tshark. `midplane dissector` prints it.
--
-- The file belongs into a plugin directory of Wireshark ("Help", "About Wireshark", "Folders", "Personal Lua Plugins").
-- tshark also reads it with `-X lua_script:midplane.lua`. It decodes files of `run --pcap`.

-- Fields, generated from the tables of the runtime. `at` and `bytes` locate a field; `bit` and `bits` select bits of a
-- byte, the highest bit is 0.
@TABLES@
local midplane = Proto("midplane", "Midplane torus")
local payload = ProtoField.bytes("midplane.payload", "payload")
local message_name = ProtoField.string("midplane.message", "message")
local protos = { payload, message_name }
local invalid = ProtoExpert.new("midplane.invalid", "Invalid frame", expert.group.MALFORMED, expert.severity.ERROR)

local function create_proto(field)
    if field.kind == "coordinates" then
        return ProtoField.string(field.filter, field.name)
    elseif field.kind == "flag" then
        return ProtoField.bool(field.filter, field.name, 8, nil, field.mask)
    elseif field.kind == "signed" then
        return ProtoField.int32(field.filter, field.name)
    end
    local create = ProtoField["uint" .. 8 * field.bytes]
    local form = field.kind == "hex" and base.HEX or base.DEC
    return create(field.filter, field.name, form, field.values, field.mask)
end

local function register(fields)
    for _, field in ipairs(fields) do
        field.proto = create_proto(field)
        table.insert(protos, field.proto)
    end
end

for _, fields in ipairs({ FRAME, PACKET, RELIABLE, DETOUR, SHORT_HEADER, LONG_HEADER }) do
    register(fields)
end
for _, formats in pairs(MESSAGES) do
    for _, format in pairs(formats) do
        register(format.fields)
        register(format.optional.fields)
        register(format.entries.fields)
    end
end
midplane.fields = protos
midplane.experts = { invalid }

local function read(field, range)
    if field.kind == "coordinates" then
        return string.format("%d,%d,%d", range(0, 1):uint(), range(1, 1):uint(), range(2, 1):uint())
    elseif field.bits then
        return range:bitfield(field.bit, field.bits)
    elseif field.kind == "signed" then
        return range:le_int()
    elseif field.bytes > 4 then
        return tostring(range:le_uint64())
    end
    return range:le_uint()
end

-- Adds fields that start at `base`, and returns their values by name.
local function add_fields(tree, fields, tvb, base, values)
    for _, field in ipairs(fields) do
        if base + field.at + field.bytes <= tvb:len() then
            local range = tvb(base + field.at, field.bytes)
            values[field.name] = read(field, range)
            if field.kind == "coordinates" then
                tree:add(field.proto, range, values[field.name])
            else
                tree:add_le(field.proto, range)
            end
        end
    end
    return values
end

-- Adds the fields of a message's payload. Returns its values.
local function add_message(tree, format, tvb)
    local values = add_fields(tree, format.fields, tvb, 0, {})
    local condition = values[format.optional.condition]
    if condition and condition ~= 0 then
        add_fields(tree, format.optional.fields, tvb, 0, values)
    end
    local entries = format.entries
    if entries.bytes > 0 then
        for at = entries.at, tvb:len() - entries.bytes, entries.bytes do
            local entry = tree:add(midplane, tvb(at, entries.bytes), "Entry")
            add_fields(entry, entries.fields, tvb, at, {})
        end
    end
    return values
end

local function summary(name, packet, header, values)
    local text = string.format("%s %s to %s", name, header.source, packet.destination)
    for _, key in ipairs({ "tag", "length", "age", "context", "operation kind", "offset" }) do
        if values[key] then
            text = string.format("%s, %s %s", text, key, values[key])
        end
    end
    return text
end

-- Dissects a packet, and returns its size in bytes.
local function add_packet(tvb, pinfo, tree)
    local branch = tree:add(midplane, tvb(), "Packet")
    local packet = add_fields(branch, PACKET, tvb, 0, {})
    local size = 32 * (packet["chunks less one"] + 1)
    local used = size - packet["unused bytes"]
    if size > tvb:len() or used < PACKET_HEADER_BYTES + SHORT_HEADER_BYTES then
        branch:add_proto_expert_info(invalid)
        return size
    end
    branch:set_len(size)
    local body = tvb(PACKET_HEADER_BYTES, used - PACKET_HEADER_BYTES):tvb()
    local header = add_fields(branch, SHORT_HEADER, body, 0, {})
    local start = SHORT_HEADER_BYTES
    if header.kind == 1 then
        add_fields(branch, LONG_HEADER, body, 0, header)
        start = LONG_HEADER_BYTES
    end
    local bytes = math.min(header["payload bytes"], math.max(body:len() - start, 0))
    local format = MESSAGES[packet.class][header.handler]
    local name = format and format.name or string.format("handler %d", header.handler)
    branch:add(message_name, body(0, 1), name)
    local values = header.kind == 1 and { offset = header.offset } or {}
    if bytes > 0 then
        local content = body(start, bytes)
        if format and header.kind == 0 then
            values = add_message(branch, format, content:tvb())
        end
        branch:add(payload, content)
    end
    local text = summary(name, packet, header, values)
    branch:set_text(text)
    if tostring(pinfo.cols.info) == "" then
        pinfo.cols.info = text
        pinfo.cols.src = header.source
        pinfo.cols.dst = packet.destination
    else
        pinfo.cols.info:append("; " .. text)
    end
    return size
end

local function add_frame(tvb, pinfo, tree)
    local frame = add_fields(tree, FRAME, tvb, 0, {})
    local packets = 32 * (frame["chunks of packets"] or 0)
    if packets == 0 then
        pinfo.cols.info:append("tokens")
    end
    local at = FRAME_HEADER_BYTES
    -- Bytes after the packets are padding.
    local last = math.min(FRAME_HEADER_BYTES + packets, tvb:len())
    while at + PACKET_HEADER_BYTES <= last do
        at = at + add_packet(tvb(at, last - at):tvb(), pinfo, tree)
    end
end

local function add_any(tvb, pinfo, tree)
    local magic = tvb:len() > 0 and tvb(0, 1):uint()
    if magic == FRAME_MAGIC then
        add_frame(tvb, pinfo, tree)
    elseif magic == RELIABLE_MAGIC and tvb:len() >= RELIABLE_HEADER_BYTES then
        local branch = tree:add(midplane, tvb(0, RELIABLE_HEADER_BYTES), "Reliable layer")
        local header = add_fields(branch, RELIABLE, tvb, 0, {})
        if header["contains data"] ~= 0 and tvb:len() > RELIABLE_HEADER_BYTES then
            add_any(tvb(RELIABLE_HEADER_BYTES):tvb(), pinfo, tree)
        else
            pinfo.cols.info:append("acknowledgement")
        end
    elseif magic == DETOUR_MAGIC and tvb:len() > DETOUR_HEADER_BYTES then
        local branch = tree:add(midplane, tvb(0, DETOUR_HEADER_BYTES), "Detour")
        add_fields(branch, DETOUR, tvb, 0, {})
        add_any(tvb(DETOUR_HEADER_BYTES):tvb(), pinfo, tree)
    elseif magic == HANDSHAKE_MAGIC and tvb:len() < FRAME_HEADER_BYTES then
        pinfo.cols.info:append("handshake")
    else
        tree:add_proto_expert_info(invalid)
    end
end

function midplane.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "MIDPLANE"
    pinfo.cols.info = ""
    add_any(tvb, pinfo, tree:add(midplane, tvb()))
    return tvb:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, midplane)
