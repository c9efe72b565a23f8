// lookups: result[i] = table[x[i] + 128], one byte of memory after the other, in few gates.
module lookups (
    input wire clk,
    input wire reset,
    output wire busy,
    input wire reg_valid,
    input wire reg_write,
    input wire [7:0] reg_address,
    input wire [31:0] reg_wdata,
    output wire [31:0] reg_rdata,
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
`include "lookups_registers.vh"
  localparam IDLE = 3'd0, GET_X = 3'd1, WAIT_X = 3'd2, GET_Y = 3'd3, WAIT_Y = 3'd4, STORE = 3'd5;

  reg done;
  reg [2:0] state;
  reg [31:0] x, table_at, result;
  reg [23:0] count;
  reg [7:0] value;

  assign busy = state != IDLE;
  assign reg_ready = 1'b1;
  assign reg_rdata = {31'd0, done};
  assign mem_request = state == GET_X || state == GET_Y || state == STORE;
  assign mem_write = state == STORE;
  assign mem_wdata = {4{value}};
  assign mem_strobe = 4'd1 << result[1:0];

  wire [31:0] entry = table_at + {24'd0, value ^ 8'h80};
  wire [31:0] byte_at = state == GET_X || state == WAIT_X ? x : state == STORE ? result : entry;
  assign mem_address = {byte_at[31:2], 2'b00};
  wire writes = reg_valid && reg_write;

  always @(posedge clk) begin
    if (writes && {24'd0, reg_address} == REG_X) x <= reg_wdata;
    if (writes && {24'd0, reg_address} == REG_TABLE) table_at <= reg_wdata;
    if (writes && {24'd0, reg_address} == REG_RESULT) result <= reg_wdata;
    if (writes && {24'd0, reg_address} == REG_COUNT) count <= reg_wdata[23:0];
    if (writes && {24'd0, reg_address} == REG_START) begin
      done  <= 1'b0;
      state <= GET_X;
    end
    if (mem_rvalid) value <= mem_rdata[8*byte_at[1:0]+:8];
    case (state)
      GET_X: if (mem_grant) state <= WAIT_X;
      WAIT_X: state <= GET_Y;
      GET_Y: if (mem_grant) state <= WAIT_Y;
      WAIT_Y: state <= STORE;
      STORE:
      if (mem_grant) begin
        x <= x + 32'd1;
        result <= result + 32'd1;
        count <= count - 24'd1;
        state <= count == 24'd1 ? IDLE : GET_X;
        done <= count == 24'd1;
      end
      default: ;
    endcase
    if (reset) begin
      state <= IDLE;
      done  <= 1'b0;
    end
  end
endmodule
