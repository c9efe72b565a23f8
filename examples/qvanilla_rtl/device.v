// QVanilla in Verilog: WIDTH pixels of a row at a time, for one filter; one tap of the kernel in a cycle.
//
// For each filter, row and group of WIDTH pixels: the bias is read, then for each channel and row of the kernel the pixels that it
// needs, word by word, and its taps; then the totals are written, or requantised and written (mode 1, where REQUANT is 1).
// Where it is 2, TensorFlow Lite's two roundings are there too.
module qvanilla_rtl #(
    parameter WIDTH = 4,
    parameter REQUANT = 1
) (
    input wire clk,
    input wire reset,
    output wire busy,
    input wire reg_valid,
    input wire reg_write,
    input wire [7:0] reg_address,
    input wire [31:0] reg_wdata,
    output reg [31:0] reg_rdata,
    output wire reg_ready,
    output wire mem_request,
    output wire mem_write,
    output wire [31:0] mem_address,
    output wire [31:0] mem_wdata,
    output wire [3:0] mem_strobe,
    input wire mem_grant,
    input wire mem_rvalid,
    input wire [31:0] mem_rdata
);
  // REG_IFMAP and so on: where the registers are, in bytes, as accelerator.py has them.
`include "qvanilla_rtl_registers.vh"
  localparam LARGEST = 5;  // kernel
  localparam PIXELS = WIDTH + LARGEST - 1;
  localparam IDLE = 4'd0, GET_BIAS = 4'd1, GET_MUL = 4'd2, GET_ADD = 4'd3, PIXEL = 4'd4, TAP = 4'd5, DRAIN = 4'd6, ROUND = 4'd7,
      STORE = 4'd8;

  reg [31:0] value[0:REG_CONTROL/4-1];
  reg status;
  reg [3:0] state, asked;
  assign busy = state != IDLE;
  assign reg_ready = 1'b1;
  wire [4:0] number = reg_address[6:2];
  wire is_value = {24'd0, reg_address} < REG_CONTROL;
  wire starts = reg_valid && reg_write && {24'd0, reg_address} == REG_CONTROL;
  always @* begin
    reg_rdata = {31'd0, status};
    if (is_value) reg_rdata = value[number];
  end

  // ---- where it is -------------------------------------------------------------------------------------------------
  reg [15:0] f, y, x, c;
  reg [2:0] r, s;
  reg [7:0] word;  // of the pixels that are read, or the pixel that is written
  reg [31:0] bias_at, filter_at, tap_at, plane_at, row_at, result_at, mul_at, add_at;
  reg [31:0] area;
  wire [2:0] pad = value[REG_K/4][2:0] >> 1;
  wire signed [16:0] in_y = $signed({1'b0, y}) + $signed({14'd0, r}) - $signed({14'd0, pad});
  wire is_row = in_y >= 0 && in_y < $signed({1'b0, value[REG_IH/4][15:0]});
  wire signed [16:0] in_x = $signed({1'b0, x}) - $signed({14'd0, pad});
  wire [15:0] left = value[REG_IW/4][15:0] - x;  // pixels of the row that are not done
  wire [7:0] pixels = left < WIDTH ? left[7:0] : WIDTH;
  wire ends_x = left <= WIDTH;
  wire ends_y = y + 1 == value[REG_IH/4][15:0];
  wire ends_f = f + 1 == value[REG_OC/4][15:0];
  wire ends_c = c + 1 == value[REG_IC/4][15:0];
  wire ends_r = r + 1 == value[REG_K/4][2:0];
  wire ends_s = s + 1 == value[REG_K/4][2:0];

  // ---- pixels ------------------------------------------------------------------------------------------------------
  // Words of the row from the first pixel on, wherever in a word that lies: those with no pixel of the row are not read.
  wire [31:0] first = row_at + {{15{in_x[16]}}, in_x};
  wire [1:0] skew = first[1:0];
  wire [7:0] window = WIDTH + value[REG_K/4][2:0] - 1;
  wire [7:0] words = (window + 8'd6) >> 2;  // also where the first is the last of its word
  wire [31:0] word_at = {first[31:2] + {22'd0, word}, 2'b00};
  wire [31:0] row_end = row_at + value[REG_IW/4];
  wire has_pixels = is_row && $signed(word_at - row_at) > -4 && $signed(word_at - row_end) < 0;
  reg signed [8:0] pixel[0:PIXELS-1];
  reg [7:0] arriving;
  reg [1:0] arriving_skew;
  reg arrives, arrives_empty;
  reg [31:0] arriving_at;

  // ---- taps --------------------------------------------------------------------------------------------------------
  // Four weights are read at a time, as they are needed.
  reg [31:0] taps, taps_at;
  reg has_taps;
  wire fetches = !(has_taps && taps_at == {tap_at[31:2], 2'b00});
  wire [7:0] tap_byte = taps[8*tap_at[1:0]+:8];
  wire signed [8:0] tap = {tap_byte[7], tap_byte} - value[REG_K_ZP/4][8:0];
  wire multiplies = state == TAP && !fetches && !(asked == TAP);
  reg signed [31:0] total[0:WIDTH-1];

  // ---- requantisation ----------------------------------------------------------------------------------------------
  reg signed [31:0] mul, add;
  wire signed [31:0] chosen = total[word < WIDTH ? word : 8'd0];
  wire is_double = REQUANT > 1 && value[REG_ROUNDING/4] == 3;  // `add` is an exponent, the first rounding is that of product / 2^31
  wire signed [31:0] factor = is_double && !add[31] ? chosen <<< add[4:0] : chosen;
  wire signed [31:0] first_add = is_double ? 32'sd1073741824 : add;
  wire signed [63:0] product = factor * mul + first_add;
  wire signed [63:0] scaled = is_double ? {{32{product[62]}}, product[62:31]} : product;
  wire [5:0] right = add[31] ? -add[5:0] : 6'd0;
  wire [5:0] shift = is_double ? right : value[REG_SHIFT/4][5:0];
  wire signed [63:0] half = shift == 0 ? 64'sd0 : 64'sd1 <<< (shift - 6'd1);
  wire signed [63:0] up = (scaled + half) >>> shift;
  wire is_tie = shift != 0 && ((scaled + half) & ((64'sd1 <<< shift) - 64'sd1)) == 64'sd0;
  wire to_lower = is_tie && ((value[REG_ROUNDING/4] == 1 && up[0]) || (value[REG_ROUNDING/4] >= 2 && scaled < 0));
  wire signed [63:0] zeroed = up - {63'd0, to_lower} + {{32{value[REG_O_ZP/4][31]}}, value[REG_O_ZP/4]};
  wire signed [63:0] low = {{32{value[REG_LOW/4][31]}}, value[REG_LOW/4]}, high = {{32{value[REG_HIGH/4][31]}}, value[REG_HIGH/4]};
  wire signed [63:0] clamped = zeroed < low ? low : zeroed > high ? high : zeroed;
  reg [7:0] rounded;

  // ---- memory ------------------------------------------------------------------------------------------------------
  wire is_bytes = REQUANT != 0 && value[REG_MODE/4][0];
  wire [31:0] store_at = is_bytes ? result_at + {24'd0, word} : result_at + {22'd0, word, 2'b00};
  assign mem_request = state == GET_BIAS || state == GET_MUL || state == GET_ADD || (state == PIXEL && word < words && has_pixels) ||
      (state == TAP && fetches && asked != TAP) || state == STORE;
  assign mem_write = state == STORE;
  assign mem_address = state == GET_BIAS ? bias_at : state == GET_MUL ? mul_at : state == GET_ADD ? add_at :
      state == PIXEL ? word_at : state == TAP ? {tap_at[31:2], 2'b00} : {store_at[31:2], 2'b00};
  assign mem_wdata = is_bytes ? {4{rounded}} : chosen;
  assign mem_strobe = is_bytes ? 4'b0001 << store_at[1:0] : 4'hf;

  integer p;
  always @(posedge clk) begin
    if (reg_valid && reg_write && is_value) value[number] <= reg_wdata;
    if (starts) begin
      status <= 1'b0;
      {f, y, x, c} <= 64'd0;
      bias_at <= value[REG_BIAS/4];
      mul_at <= value[REG_MUL/4];
      add_at <= value[REG_ADD/4];
      filter_at <= value[REG_WEIGHTS/4];
      tap_at <= value[REG_WEIGHTS/4];
      result_at <= value[REG_RESULT/4];
      area <= value[REG_IW/4] * value[REG_IH/4];
      has_taps <= 1'b0;
      state <= GET_BIAS;
    end

    // what memory gives
    asked <= mem_grant ? state : IDLE;
    arrives <= state == PIXEL && word < words && (mem_grant || !has_pixels);
    arrives_empty <= !has_pixels;
    arriving <= word;
    arriving_skew <= skew;
    arriving_at <= word_at;
    if (mem_rvalid && asked == GET_BIAS) for (p = 0; p < WIDTH; p = p + 1) total[p] <= mem_rdata;
    if (mem_rvalid && asked == GET_MUL) mul <= mem_rdata;
    if (mem_rvalid && asked == GET_ADD) add <= mem_rdata;
    if (mem_rvalid && asked == TAP) taps <= mem_rdata;
    if (arrives)
      for (p = 0; p < PIXELS; p = p + 1)
        if (({24'd0, arriving_skew} + p) >> 2 == {24'd0, arriving}) pixel[p] <= taken(p);

    case (state)
      GET_BIAS:
      if (mem_grant) begin
        c <= 0;
        r <= 0;
        s <= 0;
        word <= 0;
        plane_at <= value[REG_IFMAP/4];
        row_at <= value[REG_IFMAP/4] + row_offset;
        tap_at <= filter_at;
        state <= PIXEL;
      end
      PIXEL: begin
        if (mem_grant || !has_pixels || word == words) word <= word + 1;
        if (word == words) state <= TAP;
      end
      TAP: begin
        if (mem_grant) begin
          taps_at <= mem_address;
          has_taps <= 1'b1;
        end
        if (multiplies) begin
          for (p = 0; p < WIDTH; p = p + 1) total[p] <= total[p] + pixel[p+{29'd0, s}] * tap;
          tap_at <= tap_at + 1;
          s <= ends_s ? 3'd0 : s + 3'd1;
          word <= 0;
          if (ends_s) begin
            r <= ends_r ? 3'd0 : r + 3'd1;
            row_at <= ends_r ? plane_at + area + row_offset : row_at + value[REG_IW/4];
            if (ends_r) begin
              c <= c + 1;
              plane_at <= plane_at + area;
            end
            state <= !(ends_r && ends_c) ? PIXEL : is_bytes ? GET_MUL : STORE;
          end
        end
      end
      GET_MUL: if (mem_grant) state <= GET_ADD;
      GET_ADD: if (mem_grant) state <= DRAIN;
      DRAIN: state <= ROUND;
      ROUND: begin
        rounded <= clamped[7:0];
        state   <= STORE;
      end
      STORE:
      if (mem_grant) begin
        word  <= word + 1;
        state <= is_bytes ? ROUND : STORE;
        if (word + 1 == pixels) begin
          result_at <= result_at + (is_bytes ? {24'd0, pixels} : {22'd0, pixels, 2'b00});
          x <= ends_x ? 16'd0 : x + WIDTH;
          if (ends_x) y <= ends_y ? 16'd0 : y + 16'd1;
          if (ends_x && ends_y) begin
            f <= f + 1;
            bias_at <= bias_at + 4;
            mul_at <= mul_at + 4;
            add_at <= add_at + 4;
            filter_at <= tap_at;
          end
          state <= GET_BIAS;
          if (ends_x && ends_y && ends_f) begin
            state  <= IDLE;
            status <= 1'b1;
          end
        end
      end
      default: ;
    endcase
    if (reset) begin
      state  <= IDLE;
      status <= 1'b0;
    end
  end

  // The first row that the kernel covers, in bytes from a channel's first; it may lie before it.
  wire [31:0] row_offset = ({16'd0, y} - {29'd0, pad}) * value[REG_IW/4];

  // The pixel of a word that has arrived; the zero point outside of the image.
  function signed [8:0] taken(input integer at);
    reg [31:0] place;
    reg [7:0] data;
    begin
      place = arriving_at + (({30'd0, arriving_skew} + at) & 3);
      data  = mem_rdata[8*(place[1:0])+:8];
      taken = arrives_empty || place - (arriving_row) >= value[REG_IW/4] ? 9'sd0 : {data[7], data} - value[REG_I_ZP/4][8:0];
    end
  endfunction
  reg [31:0] arriving_row;
  always @(posedge clk) arriving_row <= row_at;
endmodule
