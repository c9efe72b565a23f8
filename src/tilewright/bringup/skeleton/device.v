// NAME: matrix products of bytes with int32 totals, one byte of memory after the other. Change it to what your accelerator is.
module NAME (
    input wire clk,
    input wire reset,
    output wire busy,  // from the cycle behind the start to the last access to memory
    // registers: an access is taken in a cycle in which valid and ready are 1
    input wire reg_valid,
    input wire reg_write,
    input wire [7:0] reg_address,
    input wire [31:0] reg_wdata,
    output reg [31:0] reg_rdata,
    output wire reg_ready,
    // memory: request stays until grant; what was read is there one cycle behind the grant, with rvalid
    output wire mem_request,
    output wire mem_write,
    output reg [31:0] mem_address,
    output wire [31:0] mem_wdata,
    output wire [3:0] mem_strobe,
    input wire mem_grant,
    input wire mem_rvalid,
    input wire [31:0] mem_rdata
);
  // REG_A and so on: where the registers are, in bytes, as accelerator.py has them. Those before START keep a value.
`include "NAME_registers.vh"
  localparam IDLE = 3'd0, GET_BIAS = 3'd1, GET_A = 3'd2, GET_B = 3'd3, ADD = 3'd4, STORE = 3'd5;

  reg [31:0] value[0:REG_START/4-1];
  reg done;
  reg [2:0] state, asked;
  reg [31:0] m, n, k, a_row, a_at, b_at, b_top, bias_at, result_at;
  reg [1:0] lane;
  reg signed [31:0] total, a_value;

  assign busy = state != IDLE;
  assign reg_ready = 1'b1;
  assign mem_request = state != IDLE && state != ADD;
  assign mem_write = state == STORE;
  assign mem_wdata = total;
  assign mem_strobe = 4'hf;

  wire is_value = {24'd0, reg_address} < REG_START;
  wire starts = reg_valid && reg_write && {24'd0, reg_address} == REG_START;
  wire [7:0] got = mem_rdata[8*lane+:8];
  wire signed [31:0] got_value = {{24{got[7]}}, got};
  wire is_last = k + 1 == value[REG_INNER/4];
  wire ends_row = n + 1 == value[REG_COLUMNS/4];

  always @* begin
    reg_rdata = {31'd0, done};
    if (is_value) reg_rdata = value[reg_address[7:2]];
  end

  wire [31:0] byte_at = state == GET_A ? a_at : b_at;
  always @* begin
    mem_address = {byte_at[31:2], 2'b00};
    if (state == GET_BIAS) mem_address = bias_at;
    if (state == STORE) mem_address = result_at;
  end

  always @(posedge clk) begin
    if (reg_valid && reg_write && is_value) value[reg_address[7:2]] <= reg_wdata;
    if (starts) begin
      done <= 1'b0;
      m <= 0;
      n <= 0;
      k <= 0;
      a_row <= value[REG_A/4];
      a_at <= value[REG_A/4];
      b_top <= value[REG_B/4];
      b_at <= value[REG_B/4];
      bias_at <= value[REG_BIAS/4];
      result_at <= value[REG_RESULT/4];
      state <= GET_BIAS;
    end

    // what memory gives
    asked <= mem_grant ? state : IDLE;
    lane <= byte_at[1:0];
    if (mem_rvalid && asked == GET_BIAS) total <= mem_rdata;
    if (mem_rvalid && asked == GET_A) a_value <= got_value - value[REG_A_ZERO/4];
    if (mem_rvalid && asked == GET_B) total <= total + a_value * (got_value - value[REG_B_ZERO/4]);

    case (state)
      GET_BIAS: if (mem_grant) state <= GET_A;
      GET_A: if (mem_grant) state <= GET_B;
      GET_B:
      if (mem_grant) begin
        k <= k + 1;
        a_at <= a_at + 1;
        b_at <= b_at + value[REG_B_ROW/4];
        state <= is_last ? ADD : GET_A;
      end
      ADD: state <= STORE;
      STORE:
      if (mem_grant) begin
        k <= 0;
        n <= ends_row ? 0 : n + 1;
        m <= ends_row ? m + 1 : m;
        a_row <= ends_row ? a_row + value[REG_INNER/4] : a_row;
        a_at <= ends_row ? a_row + value[REG_INNER/4] : a_row;
        b_top <= ends_row ? value[REG_B/4] : b_top + value[REG_B_COLUMN/4];
        b_at <= ends_row ? value[REG_B/4] : b_top + value[REG_B_COLUMN/4];
        bias_at <= ends_row ? value[REG_BIAS/4] : bias_at + 4;
        result_at <= result_at + 4;
        state <= GET_BIAS;
        if (ends_row && m + 1 == value[REG_ROWS/4]) begin
          state <= IDLE;
          done  <= 1'b1;
        end
      end
      default: ;
    endcase
    if (reset) begin
      state <= IDLE;
      done  <= 1'b0;
    end
  end
endmodule
